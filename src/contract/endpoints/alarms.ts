// Alarms.

import { answer, noContent, endpoint } from '../endpoint.ts'
import { type TSchema, Type } from '../schema.ts'

const alarm = Type.Object({
  name: Type.String({ description: 'What kind of trouble.' }),
  message: Type.String({ description: 'What was said last.' }),
  activated: Type.Boolean({ description: 'It holds.' }),
  activated_at: Type.String({ description: 'Local time of the node, `YYYY-MM-DD HH:mm:ss`.' }),
  deactivated_at: Type.Union([Type.String(), Type.Null()], { description: 'null: it holds.' }),
  duration: Type.Integer({ minimum: 0, description: 'Milliseconds, until now where it holds.' }),
  occurrences: Type.Integer({ minimum: 1, description: 'How often it was raised meanwhile.' }),
})
/** As in the documentation of EMQX 4. */
const present = { id: Type.String({ description: 'What kind of trouble.' }), desc: Type.String() }
const past = { ...present, clear_at: Type.String({ description: 'Local time of the node, `YYYY-MM-DD HH:mm:ss`.' }) }
const presentAlarms = Type.Array(Type.Object(present))
const pastAlarms = Type.Array(Type.Object(past))
const inNodes = <Alarms extends TSchema>(alarms: Alarms) =>
  answer(Type.Array(Type.Object({ node: Type.String(), alarms })))

const ofNodes = answer(Type.Array(Type.Object({ node: Type.String(), alarms: Type.Array(alarm) })))
const ofNode = answer(Type.Array(alarm))
const node = Type.Object({ node: Type.String({ minLength: 1, description: 'Name of the node.' }) })
const common = { method: 'GET', access: 'read' } as const
const unknownNode = { failures: ['invalidParameter'] } as const

export const alarmEndpoints = {
  list_alarms: endpoint({
    ...common,
    path: '/alarms',
    summary: 'All alarms, those that are over too.',
    reply: ofNodes,
  }),
  list_activated_alarms: endpoint({
    ...common,
    path: '/alarms/activated',
    summary: 'Alarms that hold.',
    reply: ofNodes,
  }),
  list_deactivated_alarms: endpoint({
    ...common,
    path: '/alarms/deactivated',
    summary: 'Alarms that are over.',
    reply: ofNodes,
  }),
  list_node_alarms: endpoint({
    ...common,
    ...unknownNode,
    path: '/nodes/:node/alarms',
    summary: 'All alarms of one node.',
    params: node,
    reply: ofNode,
  }),
  list_node_activated_alarms: endpoint({
    ...common,
    ...unknownNode,
    path: '/nodes/:node/alarms/activated',
    summary: 'Alarms of one node that hold.',
    params: node,
    reply: ofNode,
  }),
  list_node_deactivated_alarms: endpoint({
    ...common,
    ...unknownNode,
    path: '/nodes/:node/alarms/deactivated',
    summary: 'Alarms of one node that are over.',
    params: node,
    reply: ofNode,
  }),
  list_present_alarms: endpoint({
    ...common,
    path: '/alarms/present',
    summary: 'Alarms that hold, in the words of EMQX 4.',
    reply: inNodes(presentAlarms),
  }),
  list_node_present_alarms: endpoint({
    ...common,
    ...unknownNode,
    path: '/alarms/present/:node',
    summary: 'Those of one node.',
    params: node,
    reply: answer(presentAlarms),
  }),
  list_alarm_history: endpoint({
    ...common,
    path: '/alarms/history',
    summary: 'Alarms that are over, in the words of EMQX 4.',
    reply: inNodes(pastAlarms),
  }),
  list_node_alarm_history: endpoint({
    ...common,
    ...unknownNode,
    path: '/alarms/history/:node',
    summary: 'Those of one node.',
    params: node,
    reply: answer(pastAlarms),
  }),
  deactivate_alarm: endpoint({
    method: 'POST',
    path: '/alarms/deactivated',
    summary: 'Says that an alarm has been seen to.',
    body: Type.Object({
      name: Type.String({ minLength: 1 }),
      node: Type.Optional(Type.String({ minLength: 1, description: 'Unsaid: this one.' })),
    }),
    reply: noContent,
    failures: ['missingParameter', 'invalidParameter', 'notJson'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'change',
  }),
  forget_node_deactivated_alarms: endpoint({
    method: 'DELETE',
    path: '/nodes/:node/alarms/deactivated',
    summary: 'Forgets the alarms of one node that are over.',
    params: node,
    reply: noContent,
    ...unknownNode,
    access: 'change',
  }),
  forget_deactivated_alarms: endpoint({
    method: 'DELETE',
    path: '/alarms/deactivated',
    summary: 'Forgets the alarms that are over.',
    reply: noContent,
    access: 'change',
  }),
}
