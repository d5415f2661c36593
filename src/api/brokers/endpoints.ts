// The broker as a whole, and its nodes.

import { responseWith, endpoint, Type } from '../../contract/index.ts'

const broker = Type.Object({
  datetime: Type.String({ description: 'Current local time of the node, `YYYY-MM-DD HH:mm:ss`.' }),
  node_status: Type.Literal('Running'),
  sysdescr: Type.String({ description: 'Name of the broker software.' }),
  uptime: Type.String({ description: 'Time since the start of the node, as `H Hours, M minutes, S seconds`.' }),
  version: Type.String(),
})

const node = Type.Object({
  connections: Type.Integer({ minimum: 0, description: 'Number of connected clients.' }),
  node_status: Type.Literal('Running'),
  uptime: Type.String({ description: 'Time since the start of the node, as `H Hours, M minutes, S seconds`.' }),
  version: Type.String(),
  node: Type.String({ description: 'Name of the node.' }),
  security_profile: Type.Union([Type.Literal('hardened'), Type.Literal('legacy')]),
  shards: Type.Integer({ minimum: 1, description: 'Number of shards: threads that serve clients.' }),
  memory_used: Type.Integer({ minimum: 0, description: 'Resident memory of the process, in bytes.' }),
  memory_limit: Type.Integer({
    minimum: 0,
    description: 'Maximum memory of the process, in bytes: `node.memory_limit`.',
  }),
  memory_level: Type.Union([Type.Literal('normal'), Type.Literal('soft'), Type.Literal('hard')], {
    description: 'Memory level: at `soft` the largest users of memory are limited, at `hard` new sessions are refused.',
  }),
})

const ofNode = Type.Object({ node: Type.String({ minLength: 1, description: 'Name of the node.' }) })

export const brokerEndpoints = {
  list_brokers: endpoint({
    method: 'GET',
    path: '/brokers',
    summary: 'Returns name, version and uptime of the broker.',
    reply: responseWith(Type.Array(broker)),
    access: 'read',
    isForNamespaces: true,
  }),
  get_broker: endpoint({
    method: 'GET',
    path: '/brokers/:node',
    summary: 'Returns name, version and uptime of a node.',
    params: ofNode,
    reply: responseWith(broker),
    failures: ['invalidParameter'],
    access: 'read',
    isForNamespaces: true,
  }),
  list_nodes: endpoint({
    method: 'GET',
    path: '/nodes',
    summary: 'Lists the nodes of the broker with the number of their clients.',
    reply: responseWith(Type.Array(node)),
    access: 'read',
  }),
  get_node: endpoint({
    method: 'GET',
    path: '/nodes/:node',
    summary: 'Returns a node of the broker with the number of its clients.',
    params: ofNode,
    reply: responseWith(node),
    failures: ['invalidParameter'],
    access: 'read',
  }),
}
