// Dead letters of actions on all shards. The ID of a letter has the number of its shard: `0-17`.

import type { ShardUnavailable } from '../../management/index.ts'
import type { QueryName, QueryOf, QueryResult } from '../../shard/index.ts'

export interface NodeDeadLetter {
  readonly id: string
  readonly why: string
  readonly atMs: number
  readonly rule: string
  readonly attributes: readonly (readonly [string, string])[]
  readonly payload: Uint8Array
  /** Columns of the result as JSON; '': there is none. */
  readonly result: string
}

/** Progress of sending the dead letters of an action again. */
export interface NodeRetryProgress {
  /** False: a shard does not respond, so its numbers are missing. */
  readonly isComplete: boolean
  readonly isRunning: boolean
  readonly sent: number
  readonly stayed: number
  readonly pending: number
  /** Why a letter stays; '': none does. */
  readonly why: string
}

/** `letter` undefined: all letters of the action. */
export interface DeadLetterOperations {
  deadLetters(action: string): Promise<readonly NodeDeadLetter[]>
  /** Returns the number. */
  deleteDeadLetters(action: string, letter: string | undefined): Promise<number>
  /** Returns the progress after some seconds, or the result. */
  retryDeadLetters(action: string, letter: string | undefined): Promise<NodeRetryProgress>
  retryProgress(action: string): Promise<NodeRetryProgress>
}

type Progress = QueryResult<'retry-progress'>

/** Queries of shards. */
export interface ShardQueries {
  /** Number of shards. */
  readonly size: number
  /** Queries every shard; undefined for those that do not respond. */
  all<Name extends QueryName>(query: QueryOf<Name>): Promise<readonly (QueryResult<Name> | undefined)[]>
  one<Name extends QueryName>(shard: number, query: QueryOf<Name>): Promise<QueryResult<Name> | ShardUnavailable>
}

export function deadLetterOperations(shards: ShardQueries): DeadLetterOperations {
  return {
    async deadLetters(action): Promise<readonly NodeDeadLetter[]> {
      const found = await shards.all<'dead-letters'>({ kind: 'dead-letters', action })
      return found.flatMap((letters, shard) =>
        (letters ?? []).map((letter) => ({ ...letter, id: `${shard}-${letter.id}` })),
      )
    },
    async deleteDeadLetters(action, letter) {
      const kind = 'delete-dead-letters'
      if (letter === undefined) {
        const counts = await shards.all<typeof kind>({ kind, action, letter })
        return counts.reduce((sum, response) => sum + (response?.count ?? 0), 0)
      }
      const found = findLetter(shards, letter)
      if (found === undefined) return 0
      const response = await shards.one<typeof kind>(found.shard, { kind, action, letter: found.id })
      return 'count' in response ? response.count : 0
    },
    async retryDeadLetters(action, letter) {
      const kind = 'retry-dead-letters'
      if (letter === undefined) return sumOf(await shards.all<typeof kind>({ kind, action, letter }))
      const found = findLetter(shards, letter)
      if (found === undefined) return sumOf([])
      const response = await shards.one<typeof kind>(found.shard, { kind, action, letter: found.id })
      return sumOf(['isRunning' in response ? response : undefined])
    },
    retryProgress: async (action) => sumOf(await shards.all<'retry-progress'>({ kind: 'retry-progress', action })),
  }
}

function findLetter(
  { size }: ShardQueries,
  letter: string,
): { readonly shard: number; readonly id: number } | undefined {
  const [, shard, id] = /^(\d{1,3})-(\d{1,15})$/.exec(letter) ?? []
  return shard === undefined || Number(shard) >= size ? undefined : { shard: Number(shard), id: Number(id) }
}

function sumOf(shards: readonly (Progress | undefined)[]): NodeRetryProgress {
  const known = shards.filter((progress) => progress !== undefined)
  const sum = (of: (progress: Progress) => number): number => known.reduce((total, each) => total + of(each), 0)
  return {
    isComplete: known.length === shards.length,
    isRunning: known.some(({ isRunning }) => isRunning),
    sent: sum(({ sent }) => sent),
    stayed: sum(({ stayed }) => stayed),
    pending: sum(({ pending }) => pending),
    why: known.find(({ why }) => why !== '')?.why ?? '',
  }
}
