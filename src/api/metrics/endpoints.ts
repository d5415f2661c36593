// Metrics of the broker.

import { responseWith, endpoint, Type } from '../../contract/index.ts'

const numbers = Type.Record(Type.String(), Type.Number(), { description: 'Values by name.' })
const ofNode = Type.Object({ node: Type.String({ minLength: 1, description: 'Name of the node.' }) })

export const metricEndpoints = {
  get_metrics: endpoint({
    method: 'GET',
    path: '/metrics',
    summary: 'Returns the processor and memory use of the broker.',
    reply: Type.Object({
      metrics: Type.Array(Type.Unknown(), { maxItems: 0, description: 'Always empty.' }),
      cpuinfo: Type.String({
        description: 'Processor use in percent of all processors of the machine, such as `0.00%`.',
      }),
      memory: Type.String({ description: 'Memory use in bytes, as a string of digits.' }),
    }),
    access: 'read',
  }),
  get_prometheus: endpoint({
    method: 'GET',
    path: '/prometheus',
    summary: 'Returns all metrics of the broker in the text format of Prometheus.',
    reply: 'text',
    replyType: 'text/plain; version=0.0.4; charset=utf-8',
    access: 'read',
  }),
  get_stats: endpoint({
    method: 'GET',
    path: '/stats',
    summary:
      'Returns current and highest numbers of connections, sessions, subscriptions and other objects of all nodes.',
    reply: responseWith(Type.Array(Type.Object({ node: Type.String(), stats: numbers }))),
    access: 'read',
  }),
  get_node_stats: endpoint({
    method: 'GET',
    path: '/nodes/:node/stats',
    summary: 'Returns current and highest numbers of connections, sessions, subscriptions and other objects of a node.',
    params: ofNode,
    reply: responseWith(numbers),
    failures: ['invalidParameter'],
    access: 'read',
  }),
  get_node_metrics: endpoint({
    method: 'GET',
    path: '/nodes/:node/metrics',
    summary: 'Returns the counts of bytes, packets and messages of a node since its start.',
    params: ofNode,
    reply: responseWith(numbers),
    failures: ['invalidParameter'],
    access: 'read',
  }),
  get_status: endpoint({
    method: 'GET',
    path: '/status',
    atRoot: 'only',
    summary: 'Returns in two lines of text whether the node serves clients. If it does not, the status is 503.',
    reply: 'text',
    failures: ['rpcError'],
    otherStatuses: [['rpcError', 503]],
    access: 'open',
  }),
}
