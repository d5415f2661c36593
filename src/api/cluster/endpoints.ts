// The cluster as this node knows it.

import { endpoint, noContent, responseWith, Type } from '../../contract/index.ts'

const nullableText = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
const life = Type.String({ description: 'One run of the process of a node: 16 hexadecimal digits.' })

const node = Type.Object({
  name: Type.String(),
  life,
  role: Type.String({ description: '`core` or `replica`.' }),
  address: Type.String({ description: 'Address for connections of other nodes.' }),
  state: Type.Enum(['member', 'waiting', 'refused', 'evacuated'], {
    description:
      'waiting: an older life of the same name has not ended; refused: other nodes do not reach it, and it gets no lease.',
  }),
  lease: Type.Boolean({ description: 'The node has a lease, as far as this node knows.' }),
  reached: Type.Boolean({ description: 'Heartbeats arrive in both directions, and the data connection is open.' }),
  link: Type.Enum(['own', 'open', 'closed'], { description: 'The data connection; own: this node.' }),
  link_failure: nullableText('Why the last connection, or the last attempt, has ended; null: none has.'),
  seen_ms: Type.Integer({ description: 'Time since the node last wrote its row, in ms.' }),
  shards: Type.Integer({ description: 'Stored shards whose home it is.' }),
})

const shard = Type.Object({
  shard: Type.Integer({ minimum: 0 }),
  home: nullableText('Name of the node that runs it; null: none.'),
  epoch: Type.Integer({ description: 'Grows with each start of the shard on a node.' }),
  state: Type.Enum(['running', 'starting', 'homeless', 'held', 'quarantined']),
  failures: Type.Integer({ description: 'Starts that ended before the shard was stable.' }),
})

const database = Type.Object({
  database: Type.Integer({ minimum: 0, description: 'Position in `cluster.stores`.' }),
  address: Type.String({ description: 'Hosts and name, without user and password.' }),
  system_identifier: nullableText('Of its server; null: not connected, or not the first database.'),
  timeline: Type.Union([Type.Integer(), Type.Null()], { description: 'Grows with each promotion of a standby.' }),
})

const stall = Type.Object({
  kind: Type.String(),
  subject: Type.String({ description: 'The database, a node or a shard.' }),
  since_ms: Type.Union([Type.Integer(), Type.Null()], {
    description: 'How long this node has known of it, in ms; null: not measured.',
  }),
  reason: Type.String(),
  remedy: Type.String({ description: 'What to do about it.' }),
})

export const clusterEndpoints = {
  cluster_status: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/cluster/status',
    summary: 'Returns nodes, shards and databases of the cluster as this node knows them, and what does not work.',
    reply: responseWith(
      Type.Object({
        node: Type.String({ description: 'Name of the node that answers.' }),
        lease: Type.Boolean({ description: 'This node has a lease: it acknowledges messages.' }),
        nodes: Type.Array(node),
        shards: Type.Array(shard),
        databases: Type.Array(database),
        stalls: Type.Array(stall),
      }),
    ),
    reasons: ['NOT_FOUND'],
    access: 'read',
  }),
  run_cluster_command: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/cluster/commands',
    summary:
      'Moves shards to other nodes, ends a life whose process is dead, or starts a shard that is held or quarantined.',
    body: Type.Object({
      command: Type.Enum(['evacuate', 'rebalance', 'expire', 'accept-loss'], {
        description:
          'evacuate: `node` gives its shards to others and takes none. rebalance: shards move until all nodes have as many. expire: ends `life`. accept-loss: starts `shard`, which is held or quarantined.',
      }),
      node: Type.Optional(Type.String({ minLength: 1, description: 'For evacuate: the name of the node.' })),
      end: Type.Optional(Type.Boolean({ description: 'For evacuate: true: the node takes shards again.' })),
      life: Type.Optional(life),
      shard: Type.Optional(Type.Integer({ minimum: 0 })),
    }),
    reply: noContent,
    reasons: ['NOT_FOUND', 'BAD_REQUEST', 'CONFLICT'],
    access: 'change',
  }),
}
