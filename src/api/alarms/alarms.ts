// Alarms: operations of the node, and handlers.

import type { alarmEndpoints } from './endpoints.ts'
import { type Handlers, type ApiError, refuse, localTime } from '../../management/index.ts'
import { refuseNode } from '../metrics/metrics.ts'

/** Alarms of the node, for the API. */
export interface AlarmOperations {
  readonly nodeName: string
  /** Oldest first. */
  active(): readonly AlarmRecord[]
  /** Ended alarms, the latest first. */
  history(): readonly AlarmRecord[]
  /** Returns false if no alarm of that name is active. */
  deactivate(name: string): boolean
  forgetHistory(): void
}

export interface AlarmRecord {
  readonly name: string
  readonly message: string
  /** Wall clock. */
  readonly activatedAtMs: number
  /** undefined: it is active. */
  readonly deactivatedAtMs: number | undefined
  readonly occurrences: number
}

export function alarmHandlers(operations: AlarmOperations): Handlers<typeof alarmEndpoints> {
  const { nodeName } = operations
  const all = (): Shown[] => [...operations.active(), ...operations.history()].map(shown)
  const active = (): Shown[] => operations.active().map(shown)
  const history = (): Shown[] => operations.history().map(shown)
  const ofNodes = (alarms: Shown[]) => ({ code: 0 as const, data: [{ node: nodeName, alarms }] })
  const ofNode = (node: string, alarms: () => Shown[]) =>
    node === nodeName ? { code: 0 as const, data: alarms() } : refuseNode(node, nodeName)
  const present = () => operations.active().map(({ name, message }) => ({ id: name, desc: message }))
  const past = () =>
    operations.history().map(({ name, message, deactivatedAtMs, activatedAtMs }) => ({
      id: name,
      desc: message,
      clear_at: localTime(deactivatedAtMs ?? activatedAtMs),
    }))
  return {
    list_alarms: () => ofNodes(all()),
    list_activated_alarms: () => ofNodes(active()),
    list_deactivated_alarms: () => ofNodes(history()),
    list_node_alarms: ({ params }) => ofNode(params.node, all),
    list_node_activated_alarms: ({ params }) => ofNode(params.node, active),
    list_node_deactivated_alarms: ({ params }) => ofNode(params.node, history),
    deactivate_alarm: ({ body }): ApiError | { code: 0 } => {
      const { name, node = nodeName } = body
      if (node !== nodeName) return refuseNode(node, nodeName)
      if (operations.deactivate(name)) return { code: 0 }
      return refuse('invalidParameter', `no alarm '${name}' is active`, 404)
    },
    forget_deactivated_alarms: () => forget(operations),
    forget_node_deactivated_alarms: ({ params: { node } }) =>
      node === nodeName ? forget(operations) : refuseNode(node, nodeName),
    list_present_alarms: () => ({ code: 0, data: [{ node: nodeName, alarms: present() }] }),
    list_node_present_alarms: ({ params: { node } }) =>
      node === nodeName ? { code: 0, data: present() } : refuseNode(node, nodeName),
    list_alarm_history: () => ({ code: 0, data: [{ node: nodeName, alarms: past() }] }),
    list_node_alarm_history: ({ params: { node } }) =>
      node === nodeName ? { code: 0, data: past() } : refuseNode(node, nodeName),
  }
}

function forget(operations: AlarmOperations): { code: 0 } {
  operations.forgetHistory()
  return { code: 0 }
}

interface Shown {
  name: string
  message: string
  activated: boolean
  activated_at: string
  deactivated_at: string | null
  duration: number
  occurrences: number
}

function shown({ name, message, activatedAtMs, deactivatedAtMs, occurrences }: AlarmRecord): Shown {
  return {
    name,
    message,
    activated: deactivatedAtMs === undefined,
    activated_at: localTime(activatedAtMs),
    deactivated_at: deactivatedAtMs === undefined ? null : localTime(deactivatedAtMs),
    // The wall clock may have been set back meanwhile.
    duration: Math.max(0, Math.round((deactivatedAtMs ?? Date.now()) - activatedAtMs)),
    occurrences,
  }
}
