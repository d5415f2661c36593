// Alarms.

import { responseWith, noContent, endpoint, type TSchema, Type } from '../../contract/index.ts'

const alarm = Type.Object({
  name: Type.String({ description: 'Name of the alarm, such as `memory`.' }),
  message: Type.String({ description: 'Text of the alarm when it was last raised.' }),
  activated: Type.Boolean({ description: 'true: the alarm is active; false: the alarm has ended.' }),
  activated_at: Type.String({
    description: 'Time at which the alarm was raised: local time of the node, `YYYY-MM-DD HH:mm:ss`.',
  }),
  deactivated_at: Type.Union([Type.String(), Type.Null()], {
    description:
      'Time at which the alarm ended: local time of the node, `YYYY-MM-DD HH:mm:ss`; null: the alarm is active.',
  }),
  duration: Type.Integer({
    minimum: 0,
    description: 'Duration of the alarm in milliseconds; of an active alarm, until now.',
  }),
  occurrences: Type.Integer({
    minimum: 1,
    description: 'Number of times that the alarm was raised while it was active.',
  }),
})
/** Fields of an active alarm, as in the documentation of EMQX 4. */
const present = { id: Type.String({ description: 'Name of the alarm.' }), desc: Type.String() }
const past = {
  ...present,
  clear_at: Type.String({
    description: 'Time at which the alarm ended: local time of the node, `YYYY-MM-DD HH:mm:ss`.',
  }),
}
const presentAlarms = Type.Array(Type.Object(present))
const pastAlarms = Type.Array(Type.Object(past))
const inNodes = <Alarms extends TSchema>(alarms: Alarms) =>
  responseWith(Type.Array(Type.Object({ node: Type.String(), alarms })))

const ofNodes = responseWith(Type.Array(Type.Object({ node: Type.String(), alarms: Type.Array(alarm) })))
const ofNode = responseWith(Type.Array(alarm))
const node = Type.Object({ node: Type.String({ minLength: 1, description: 'Name of the node.' }) })
const common = { method: 'GET', access: 'read' } as const
const unknownNode = { failures: ['invalidParameter'] } as const

export const alarmEndpoints = {
  list_alarms: endpoint({
    ...common,
    path: '/alarms',
    summary: 'Lists active and ended alarms of all nodes.',
    reply: ofNodes,
  }),
  list_activated_alarms: endpoint({
    ...common,
    path: '/alarms/activated',
    summary: 'Lists the active alarms of all nodes.',
    reply: ofNodes,
  }),
  list_deactivated_alarms: endpoint({
    ...common,
    path: '/alarms/deactivated',
    summary: 'Lists the ended alarms of all nodes.',
    reply: ofNodes,
  }),
  list_node_alarms: endpoint({
    ...common,
    ...unknownNode,
    path: '/nodes/:node/alarms',
    summary: 'Lists active and ended alarms of a node.',
    params: node,
    reply: ofNode,
  }),
  list_node_activated_alarms: endpoint({
    ...common,
    ...unknownNode,
    path: '/nodes/:node/alarms/activated',
    summary: 'Lists the active alarms of a node.',
    params: node,
    reply: ofNode,
  }),
  list_node_deactivated_alarms: endpoint({
    ...common,
    ...unknownNode,
    path: '/nodes/:node/alarms/deactivated',
    summary: 'Lists the ended alarms of a node.',
    params: node,
    reply: ofNode,
  }),
  list_present_alarms: endpoint({
    ...common,
    path: '/alarms/present',
    summary: 'Lists the active alarms of all nodes, with the member names of EMQX 4.',
    reply: inNodes(presentAlarms),
  }),
  list_node_present_alarms: endpoint({
    ...common,
    ...unknownNode,
    path: '/alarms/present/:node',
    summary: 'Lists the active alarms of a node, with the member names of EMQX 4.',
    params: node,
    reply: responseWith(presentAlarms),
  }),
  list_alarm_history: endpoint({
    ...common,
    path: '/alarms/history',
    summary: 'Lists the ended alarms of all nodes, with the member names of EMQX 4.',
    reply: inNodes(pastAlarms),
  }),
  list_node_alarm_history: endpoint({
    ...common,
    ...unknownNode,
    path: '/alarms/history/:node',
    summary: 'Lists the ended alarms of a node, with the member names of EMQX 4.',
    params: node,
    reply: responseWith(pastAlarms),
  }),
  deactivate_alarm: endpoint({
    method: 'POST',
    path: '/alarms/deactivated',
    summary: 'Ends an active alarm. The alarm moves to the history; if its cause remains, it is raised again.',
    body: Type.Object({
      name: Type.String({ minLength: 1 }),
      node: Type.Optional(Type.String({ minLength: 1, description: 'Name of the node; absent: this node.' })),
    }),
    reply: noContent,
    failures: ['missingParameter', 'invalidParameter', 'notJson'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'change',
  }),
  forget_node_deactivated_alarms: endpoint({
    method: 'DELETE',
    path: '/nodes/:node/alarms/deactivated',
    summary: 'Deletes the ended alarms of a node from the history.',
    params: node,
    reply: noContent,
    ...unknownNode,
    access: 'change',
  }),
  forget_deactivated_alarms: endpoint({
    method: 'DELETE',
    path: '/alarms/deactivated',
    summary: 'Deletes all ended alarms from the history.',
    reply: noContent,
    access: 'change',
  }),
}
