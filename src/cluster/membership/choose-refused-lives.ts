// Two live nodes that do not reach each other cannot both be members: a subscription at one would not be known at the other. The node that fewer
// nodes reach loses.

import type { Life } from '../peer-name.ts'
import { listMembers, type MembershipRows } from './membership-rows.ts'

export interface RefusedLife {
  readonly life: Life
  /** A life that the refused one does not reach. */
  readonly other: Life
}

/**
 * Returns the lives that lose, in order: as long as there is a pair in which each has written that it does not reach the other, the life that
 * is in most pairs. With equal numbers, the greater name.
 */
export function chooseRefusedLives(rows: MembershipRows): readonly RefusedLife[] {
  const members = listMembers(rows).filter(({ isRefused }) => !isRefused)
  const names = new Map(members.map(({ life, name }) => [life, name]))
  const written = new Set(rows.unlinked.map(({ by, other }) => `${by} ${other}`))
  let pairs = rows.unlinked.filter(
    ({ by, other }) => by !== other && names.has(by) && names.has(other) && written.has(`${other} ${by}`),
  )
  const refused: RefusedLife[] = []
  while (pairs.length > 0) {
    const counts = new Map<Life, number>()
    for (const { by } of pairs) counts.set(by, (counts.get(by) ?? 0) + 1)
    const [[life] = ['']] = [...counts].toSorted(([a, countA], [b, countB]) =>
      countA === countB ? compareTexts(names.get(b) ?? '', names.get(a) ?? '') : countB - countA,
    )
    refused.push({ life, other: pairs.find(({ by }) => by === life)?.other ?? '' })
    pairs = pairs.filter(({ by, other }) => by !== life && other !== life)
  }
  return refused
}

/** By code units, as PostgreSQL compares with COLLATE "C" for ASCII. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
