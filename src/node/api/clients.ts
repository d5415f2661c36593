import { shardOf } from '../../core/index.ts'
import type { ClientOperations, ListPosition, ListSlice, RowsWanted, Unanswered } from '../../management/index.ts'
import type { ClientCommand, QueryResult } from '../../shard/index.ts'
import { type ShardQueries, queryShard } from './query-shard.ts'

export function clientOperations(crew: ShardQueries, nodeName: string): ClientOperations {
  const ownerOf = (clientId: string): number => shardOf(clientId, crew.size)
  const change = (command: ClientCommand): Promise<boolean | Unanswered> =>
    queryShard(crew, ownerOf(command.clientId), { question: 'change-client', command })
  return {
    nodeName,
    clients: async (filter, wanted) => {
      const { at, shards } = spanOf(crew, filter.clientId, wanted)
      if (at.shard >= shards) return nothingMore
      const slice = await queryShard(crew, at.shard, { question: 'clients', filter, ...wanted, from: within(at) })
      return continueSlice(slice, at, shards)
    },
    subscriptions: async (filter, wanted) => {
      const { at, shards } = spanOf(crew, filter.clientId, wanted)
      if (at.shard >= shards) return nothingMore
      const slice = await queryShard(crew, at.shard, { question: 'subscriptions', filter, ...wanted, from: within(at) })
      return continueSlice(slice, at, shards)
    },
    countClients: () => countClients(crew),
    kick: (clientId, endsSession) => change({ name: 'kick', clientId, endsSession }),
    changeKeepAlive: (clientId, seconds) => change({ name: 'keep-alive', clientId, seconds }),
    forgetVerdicts: (clientId) => change({ name: 'forget-verdicts', clientId }),
    verdicts: async (clientId) => {
      const answer = await queryShard(crew, ownerOf(clientId), { question: 'verdicts', clientId })
      return 'silentShard' in answer ? answer : (answer.found ?? false)
    },
  }
}

/** Of a position that was never given out. */
const nothingMore = { rows: [], passed: 0, next: undefined } as const

interface Span {
  readonly at: ListPosition
  /** The list ends with the one before this. */
  readonly shards: number
}

/** What is about one client lies with its shard, and what is about many with all. */
function spanOf(crew: ShardQueries, clientId: string | undefined, { from }: RowsWanted): Span {
  if (clientId === undefined) return { at: from, shards: crew.size }
  const shard = shardOf(clientId, crew.size)
  return { at: { ...from, shard }, shards: shard + 1 }
}

function within({ place, offset }: ListPosition): { place: number; offset: number } {
  return { place, offset }
}

type AnySlice<Row> = Omit<QueryResult<'clients'>, 'rows'> & { readonly rows: readonly Row[] }

function continueSlice<Row>(
  slice: AnySlice<Row> | Unanswered,
  { shard }: ListPosition,
  shards: number,
): ListSlice<Row> | Unanswered {
  if ('silentShard' in slice) return slice
  const { rows, passed, next } = slice
  if (next !== undefined) return { rows, passed, next: { ...next, shard } }
  return { rows, passed, next: shard + 1 < shards ? { shard: shard + 1, place: 0, offset: 0 } : undefined }
}

async function countClients(crew: ShardQueries): Promise<number | Unanswered> {
  const shards = Array.from({ length: crew.size }, (_, shard) => shard)
  const counts = await Promise.all(shards.map((shard) => queryShard(crew, shard, { question: 'session-count' })))
  let sum = 0
  for (const count of counts) {
    if (typeof count !== 'number') return count
    sum += count
  }
  return sum
}
