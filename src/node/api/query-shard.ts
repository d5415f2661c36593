// Queries one shard with a timeout.

import type { QueryResult, QueryName, QueryOf } from '../../shard/index.ts'
import type { ShardUnavailable } from '../../management/index.ts'
import type { ShardSupervisor } from '../shards/shard-supervisor.ts'

/** A restarting shard reads its sessions first; without a response in this time it counts as unavailable. */
const queryTimeoutMs = 10_000

export type ShardQueries = Pick<ShardSupervisor, 'ask' | 'size'>

export async function queryShard<Name extends QueryName>(
  supervisor: ShardQueries,
  shard: number,
  question: QueryOf<Name>,
  timeoutMs = queryTimeoutMs,
): Promise<QueryResult<Name> | ShardUnavailable> {
  const { promise: tooLate, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, timeoutMs, undefined)
  const answer = await Promise.race([supervisor.ask(shard, question), tooLate])
  clearTimeout(timer)
  return answer ?? { silentShard: shard }
}
