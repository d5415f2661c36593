import { shardOf } from '../../core/index.ts'
import type { ClientOperations } from './clients.ts'
import type { ListPosition, ListSlice, RowsWanted, ShardUnavailable } from '../../management/index.ts'
import type { ClientCommand, QueryResult } from '../../shard/index.ts'
import { type QueryableShards, queryShard } from '../../node/index.ts'

export function clientOperations(supervisor: QueryableShards, nodeName: string): ClientOperations {
  const ownerOf = (clientId: string): number => shardOf(clientId, supervisor.size)
  const change = (command: ClientCommand): Promise<boolean | ShardUnavailable> =>
    queryShard(supervisor, ownerOf(command.clientId), { kind: 'change-client', command })
  return {
    nodeName,
    listClients: async (filter, wanted) => {
      const { at, shards } = spanOf(supervisor, filter.clientId, wanted)
      if (at.shard >= shards) return nothingMore
      const slice = await queryShard(supervisor, at.shard, {
        kind: 'list-clients',
        filter,
        ...wanted,
        from: within(at),
      })
      return continueSlice(slice, at, shards)
    },
    listSubscriptions: async (filter, wanted) => {
      const { at, shards } = spanOf(supervisor, filter.clientId, wanted)
      if (at.shard >= shards) return nothingMore
      const slice = await queryShard(supervisor, at.shard, {
        kind: 'list-subscriptions',
        filter,
        ...wanted,
        from: within(at),
      })
      return continueSlice(slice, at, shards)
    },
    countClients: () => countClients(supervisor),
    kickoutClient: (clientId, endsSession) => change({ name: 'kick', clientId, endsSession }),
    setKeepAlive: (clientId, seconds) => change({ name: 'keep-alive', clientId, seconds }),
    clearAuthorizationCache: (clientId) => change({ name: 'clear-authorization-cache', clientId }),
    cachedAuthorizations: async (clientId) => {
      const response = await queryShard(supervisor, ownerOf(clientId), { kind: 'cached-authorizations', clientId })
      return 'unavailableShard' in response ? response : (response.found ?? false)
    },
  }
}

/** For an invalid position. */
const nothingMore = { rows: [], passed: 0, next: undefined } as const

interface Span {
  readonly at: ListPosition
  /** The list ends before this shard. */
  readonly shards: number
}

/** A query for one client goes to its shard, others to all. */
function spanOf(supervisor: QueryableShards, clientId: string | undefined, { from }: RowsWanted): Span {
  if (clientId === undefined) return { at: from, shards: supervisor.size }
  const shard = shardOf(clientId, supervisor.size)
  return { at: { ...from, shard }, shards: shard + 1 }
}

function within({ place, offset }: ListPosition): { place: number; offset: number } {
  return { place, offset }
}

type AnySlice<Row> = Omit<QueryResult<'list-clients'>, 'rows'> & { readonly rows: readonly Row[] }

function continueSlice<Row>(
  slice: AnySlice<Row> | ShardUnavailable,
  { shard }: ListPosition,
  shards: number,
): ListSlice<Row> | ShardUnavailable {
  if ('unavailableShard' in slice) return slice
  const { rows, passed, next } = slice
  if (next !== undefined) return { rows, passed, next: { ...next, shard } }
  return { rows, passed, next: shard + 1 < shards ? { shard: shard + 1, place: 0, offset: 0 } : undefined }
}

async function countClients(supervisor: QueryableShards): Promise<number | ShardUnavailable> {
  const shards = Array.from({ length: supervisor.size }, (_, shard) => shard)
  const counts = await Promise.all(shards.map((shard) => queryShard(supervisor, shard, { kind: 'session-count' })))
  let sum = 0
  for (const count of counts) {
    if (typeof count !== 'number') return count
    sum += count
  }
  return sum
}
