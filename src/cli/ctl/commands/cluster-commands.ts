// Commands that show the cluster, move shards between its nodes, and repair it.

import type { endpoints } from '../../../api/endpoints.ts'
import type { ReplyOf } from '../../../contract/index.ts'
import { type CtlCommand, type Outcome, reportDone, type Row, showReply } from '../ctl-command.ts'

export const clusterCommands: readonly CtlCommand[] = [
  {
    name: 'cluster status',
    description:
      'show nodes, shards and databases of the cluster, and what does not work, with the command that repairs it',
    run: ({ client }) => showReply(client.cluster_status({}), ({ data }) => showStatus(data)),
  },
  {
    name: 'cluster evacuate',
    description: 'give the shards of a node to other nodes, one after the other; it takes none until --end',
    arguments: ['<node>'],
    options: [{ flags: '--end', description: 'the node takes shards again' }],
    run: ({ client, operands: [node = ''], options: { end } }) =>
      reportDone(
        client.run_cluster_command({ body: { command: 'evacuate', node, end: end === true } }),
        end === true ? `${node} takes shards again` : `${node} gives its shards away: see "cluster status"`,
      ),
  },
  {
    name: 'cluster rebalance',
    description: 'move shards until all nodes have as many; their clients are disconnected',
    run: ({ client }) =>
      reportDone(client.run_cluster_command({ body: { command: 'rebalance' } }), 'shards move: see "cluster status"'),
  },
  {
    name: 'cluster expire',
    description: 'end the life of a node whose process is known to be dead',
    arguments: ['<life>'],
    run: ({ client, operands: [life = ''] }) =>
      reportDone(client.run_cluster_command({ body: { command: 'expire', life } }), `the life ${life} has ended`),
  },
  {
    name: 'cluster accept-loss',
    description: 'start a shard that is held or quarantined, although records may be lost',
    arguments: ['<shard>'],
    run: ({ client, operands: [shard = ''] }) => {
      if (!/^\d{1,3}$/.test(shard))
        return { usage: `${shard}: give the number of a shard; "cluster status" lists them` }
      const body = { command: 'accept-loss', shard: Number(shard) } as const
      return reportDone(client.run_cluster_command({ body }), `shard ${shard} starts`)
    },
  },
]

type Status = ReplyOf<(typeof endpoints)['cluster_status']>['data']

/** A line for each node, shard, database and stall. A stall sets the exit code. */
function showStatus(status: Status): Outcome {
  const nodes = status.nodes.map(({ name, state, lease, link, life, shards, link_failure: failure }): Row => {
    const details = `${lease ? 'lease' : 'no lease'}, link ${link}, life ${life}, shards: ${shards}`
    return { kind: 'node', name, state, details: failure === null ? details : `${details}, ${failure}` }
  })
  const shards = status.shards.map(({ shard, state, home, epoch }): Row => {
    return { kind: 'shard', name: shard, state, details: `home ${home ?? 'none'}, epoch ${epoch}` }
  })
  const databases = status.databases.map(({ database, address, timeline }): Row => {
    const details = timeline === null ? address : `${address}, timeline ${timeline}`
    return { kind: 'database', name: database, state: '', details }
  })
  const stalls = status.stalls.map(({ kind, subject, since_ms: ms, reason, remedy }): Row => {
    const since = ms === null ? '' : ` (for ${Math.round(ms / 1_000)} s)`
    return { kind: 'stalls', name: subject, state: kind, details: `${reason}${since}: ${remedy}` }
  })
  return {
    rows: [...nodes, ...shards, ...databases, ...stalls],
    columns: ['kind', 'name', 'state', 'details'],
    document: [status],
    hasFailed: stalls.length > 0,
  }
}
