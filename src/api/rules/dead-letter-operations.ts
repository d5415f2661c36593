// Dead letters of actions on all shards. The ID of a letter has the number of its shard: `0-17`.

import type { QueryResult } from '../../shard/index.ts'
import type { RuleShards } from './rule-reports.ts'

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

type Progress = QueryResult<'retry-progress'>

export async function listDeadLetters(shards: RuleShards, action: string): Promise<readonly NodeDeadLetter[]> {
  const found = await shards.queryAll<'dead-letters'>({ kind: 'dead-letters', action })
  return found.flatMap((letters, shard) =>
    (letters ?? []).map((letter) => ({ ...letter, id: `${shard}-${letter.id}` })),
  )
}

/** `letter` undefined: all letters of the action. Returns the number. */
export async function deleteDeadLetters(
  shards: RuleShards,
  action: string,
  letter: string | undefined,
): Promise<number> {
  const kind = 'delete-dead-letters'
  if (letter === undefined) {
    const counts = await shards.queryAll<typeof kind>({ kind, action, letter })
    return counts.reduce((sum, response) => sum + (response?.count ?? 0), 0)
  }
  const found = findLetter(shards, letter)
  if (found === undefined) return 0
  const response = await shards.queryOne<typeof kind>(found.shard, { kind, action, letter: found.id })
  return 'count' in response ? response.count : 0
}

/** `letter` undefined: all letters of the action. Returns the progress after some seconds, or the result. */
export async function retryDeadLetters(
  shards: RuleShards,
  action: string,
  letter: string | undefined,
): Promise<NodeRetryProgress> {
  const kind = 'retry-dead-letters'
  if (letter === undefined) return sumProgress(await shards.queryAll<typeof kind>({ kind, action, letter }))
  const found = findLetter(shards, letter)
  if (found === undefined) return sumProgress([])
  const response = await shards.queryOne<typeof kind>(found.shard, { kind, action, letter: found.id })
  return sumProgress(['isRunning' in response ? response : undefined])
}

export async function readRetryProgress(shards: RuleShards, action: string): Promise<NodeRetryProgress> {
  return sumProgress(await shards.queryAll<'retry-progress'>({ kind: 'retry-progress', action }))
}

function findLetter({ size }: RuleShards, letter: string): { readonly shard: number; readonly id: number } | undefined {
  const [, shard, id] = /^(\d{1,3})-(\d{1,15})$/.exec(letter) ?? []
  return shard === undefined || Number(shard) >= size ? undefined : { shard: Number(shard), id: Number(id) }
}

function sumProgress(shards: readonly (Progress | undefined)[]): NodeRetryProgress {
  const known = shards.filter((progress) => progress !== undefined)
  const sum = (read: (progress: Progress) => number): number => known.reduce((total, each) => total + read(each), 0)
  return {
    isComplete: known.length === shards.length,
    isRunning: known.some(({ isRunning }) => isRunning),
    sent: sum(({ sent }) => sent),
    stayed: sum(({ stayed }) => stayed),
    pending: sum(({ pending }) => pending),
    why: known.find(({ why }) => why !== '')?.why ?? '',
  }
}
