// Metrics of the broker.

import { answer, endpoint } from '../endpoint.ts'
import { Type } from '../schema.ts'

const numbers = Type.Record(Type.String(), Type.Number(), { description: 'By name.' })
const ofNode = Type.Object({ node: Type.String({ minLength: 1, description: 'Name of the node.' }) })

export const metricEndpoints = {
  get_metrics: endpoint({
    method: 'GET',
    path: '/metrics',
    summary: 'Processor and memory of the broker.',
    reply: Type.Object({
      metrics: Type.Array(Type.Unknown(), { maxItems: 0, description: 'Always empty.' }),
      cpuinfo: Type.String({ description: 'Part of all processors of the machine, with a percent sign: `0.00%`.' }),
      memory: Type.String({ description: 'Bytes, as digits.' }),
    }),
    access: 'read',
  }),
  get_prometheus: endpoint({
    method: 'GET',
    path: '/prometheus',
    summary: 'All numbers of the broker, in the text format of Prometheus.',
    reply: 'text',
    replyType: 'text/plain; version=0.0.4; charset=utf-8',
    access: 'read',
  }),
  get_stats: endpoint({
    method: 'GET',
    path: '/stats',
    summary: 'How many connections, sessions and subscriptions there are, and the most that were seen at once.',
    reply: answer(Type.Array(Type.Object({ node: Type.String(), stats: numbers }))),
    access: 'read',
  }),
  get_node_stats: endpoint({
    method: 'GET',
    path: '/nodes/:node/stats',
    summary: 'The same of one node.',
    params: ofNode,
    reply: answer(numbers),
    failures: ['invalidParameter'],
    access: 'read',
  }),
  get_node_metrics: endpoint({
    method: 'GET',
    path: '/nodes/:node/metrics',
    summary: 'Bytes, packets and messages of one node since its start.',
    params: ofNode,
    reply: answer(numbers),
    failures: ['invalidParameter'],
    access: 'read',
  }),
  get_status: endpoint({
    method: 'GET',
    path: '/status',
    atRoot: 'only',
    summary: 'Whether the node serves, in two lines of text; 503 where it does not.',
    reply: 'text',
    failures: ['rpcError'],
    otherStatuses: [['rpcError', 503]],
    access: 'open',
  }),
}
