// Queries one shard with a timeout.

import type { QueryResult, QueryName, QueryOf } from '../../shard/index.ts'
import type { ShardUnavailable } from '../../management/index.ts'
import type { ShardSupervisor } from './shard-supervisor.ts'

/** A restarting shard reads its sessions first; without a response in this time it counts as unavailable. */
const queryTimeoutMs = 10_000

export type QueryableShards = Pick<ShardSupervisor, 'query' | 'size'>

export async function queryShard<Name extends QueryName>(
  supervisor: QueryableShards,
  shard: number,
  query: QueryOf<Name>,
  timeoutMs = queryTimeoutMs,
): Promise<QueryResult<Name> | ShardUnavailable> {
  const { promise: tooLate, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, timeoutMs, undefined)
  const result = await Promise.race([supervisor.query(shard, query), tooLate])
  clearTimeout(timer)
  return result ?? { unavailableShard: shard }
}
