// Alarms.

import type { ReplyOf } from '../../contract/index.ts'
import { type Handlers, type ApiError, refuse, formatLocalTime } from '../../management/index.ts'
import type { Alarms } from '../../node/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import { refuseNode } from '../metrics/metrics.ts'
import type { alarmEndpoints } from './endpoints.ts'

type Known = typeof alarmEndpoints
type Row = ReplyOf<Known['list_node_alarms']>['data'][number]

export function createAlarmHandlers({ nodeName, alarms }: Pick<ApiContext, 'nodeName' | 'alarms'>): Handlers<Known> {
  const listAll = (): Row[] => [...alarms.listActive(), ...alarms.listHistory()].map(toRow)
  const listActive = (): Row[] => alarms.listActive().map(toRow)
  const listHistory = (): Row[] => alarms.listHistory().map(toRow)
  const toNodesResponse = (rows: Row[]) => ({ code: 0 as const, data: [{ node: nodeName, alarms: rows }] })
  const toNodeResponse = (node: string, rows: () => Row[]) =>
    node === nodeName ? { code: 0 as const, data: rows() } : refuseNode(node, nodeName)
  const listPresent = () => alarms.listActive().map(({ name, message }) => ({ id: name, desc: message }))
  const listPast = () =>
    alarms.listHistory().map(({ name, message, deactivatedAtMs, activatedAtMs }) => ({
      id: name,
      desc: message,
      clear_at: formatLocalTime(deactivatedAtMs ?? activatedAtMs),
    }))
  return {
    list_alarms: () => toNodesResponse(listAll()),
    list_activated_alarms: () => toNodesResponse(listActive()),
    list_deactivated_alarms: () => toNodesResponse(listHistory()),
    list_node_alarms: ({ params }) => toNodeResponse(params.node, listAll),
    list_node_activated_alarms: ({ params }) => toNodeResponse(params.node, listActive),
    list_node_deactivated_alarms: ({ params }) => toNodeResponse(params.node, listHistory),
    deactivate_alarm: ({ body }): ApiError | { code: 0 } => {
      const { name, node = nodeName } = body
      if (node !== nodeName) return refuseNode(node, nodeName)
      if (alarms.deactivate(name)) return { code: 0 }
      return refuse('invalidParameter', `no alarm '${name}' is active`, 404)
    },
    forget_deactivated_alarms: () => forget(alarms),
    forget_node_deactivated_alarms: ({ params: { node } }) =>
      node === nodeName ? forget(alarms) : refuseNode(node, nodeName),
    list_present_alarms: () => ({ code: 0, data: [{ node: nodeName, alarms: listPresent() }] }),
    list_node_present_alarms: ({ params: { node } }) =>
      node === nodeName ? { code: 0, data: listPresent() } : refuseNode(node, nodeName),
    list_alarm_history: () => ({ code: 0, data: [{ node: nodeName, alarms: listPast() }] }),
    list_node_alarm_history: ({ params: { node } }) =>
      node === nodeName ? { code: 0, data: listPast() } : refuseNode(node, nodeName),
  }
}

function forget(alarms: Alarms): { code: 0 } {
  alarms.forgetHistory()
  return { code: 0 }
}

function toRow({
  name,
  message,
  activatedAtMs,
  deactivatedAtMs,
  occurrences,
}: ReturnType<Alarms['listActive']>[number]): Row {
  return {
    name,
    message,
    activated: deactivatedAtMs === undefined,
    activated_at: formatLocalTime(activatedAtMs),
    deactivated_at: deactivatedAtMs === undefined ? null : formatLocalTime(deactivatedAtMs),
    // The wall clock may have been set back meanwhile.
    duration: Math.max(0, Math.round((deactivatedAtMs ?? Date.now()) - activatedAtMs)),
    occurrences,
  }
}
