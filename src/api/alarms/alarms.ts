// Alarms.

import type { ReplyOf } from '../../contract/index.ts'
import { type Handlers, type ApiError, refuse, localTime } from '../../management/index.ts'
import type { Alarms } from '../../node/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import { refuseNode } from '../metrics/metrics.ts'
import type { alarmEndpoints } from './endpoints.ts'

type Known = typeof alarmEndpoints
type Row = ReplyOf<Known['list_node_alarms']>['data'][number]

export function alarmHandlers({ nodeName, alarms }: Pick<ApiContext, 'nodeName' | 'alarms'>): Handlers<Known> {
  const all = (): Row[] => [...alarms.active(), ...alarms.history()].map(rowOf)
  const active = (): Row[] => alarms.active().map(rowOf)
  const history = (): Row[] => alarms.history().map(rowOf)
  const ofNodes = (rows: Row[]) => ({ code: 0 as const, data: [{ node: nodeName, alarms: rows }] })
  const ofNode = (node: string, rows: () => Row[]) =>
    node === nodeName ? { code: 0 as const, data: rows() } : refuseNode(node, nodeName)
  const present = () => alarms.active().map(({ name, message }) => ({ id: name, desc: message }))
  const past = () =>
    alarms.history().map(({ name, message, deactivatedAtMs, activatedAtMs }) => ({
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
      if (alarms.deactivate(name)) return { code: 0 }
      return refuse('invalidParameter', `no alarm '${name}' is active`, 404)
    },
    forget_deactivated_alarms: () => forget(alarms),
    forget_node_deactivated_alarms: ({ params: { node } }) =>
      node === nodeName ? forget(alarms) : refuseNode(node, nodeName),
    list_present_alarms: () => ({ code: 0, data: [{ node: nodeName, alarms: present() }] }),
    list_node_present_alarms: ({ params: { node } }) =>
      node === nodeName ? { code: 0, data: present() } : refuseNode(node, nodeName),
    list_alarm_history: () => ({ code: 0, data: [{ node: nodeName, alarms: past() }] }),
    list_node_alarm_history: ({ params: { node } }) =>
      node === nodeName ? { code: 0, data: past() } : refuseNode(node, nodeName),
  }
}

function forget(alarms: Alarms): { code: 0 } {
  alarms.forgetHistory()
  return { code: 0 }
}

function rowOf({
  name,
  message,
  activatedAtMs,
  deactivatedAtMs,
  occurrences,
}: ReturnType<Alarms['active']>[number]): Row {
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
