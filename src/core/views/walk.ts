// Looking at everything, a slice at a time: each slice says where the next one begins, and nothing is kept between them.

import type { SessionTable } from '../state/sessions/session-table.ts'
import type { Session } from '../state/sessions/session.ts'

/** How many sessions are looked at between two looks at the clock. */
const sessionsBetweenLooks = 32

/** Where a walk goes on. */
export interface WalkPosition {
  /** Of a session. */
  readonly place: number
  /** So many rows of that session have been passed. */
  readonly offset: number
}

export interface SliceWanted {
  readonly from: WalkPosition
  /** Rows that are passed before the first one is given. */
  readonly skip: number
  /** Rows at most; 0: they are only counted. */
  readonly most: number
  /** The slice is to end: looked at now and then, and not before some progress has been made. */
  isOver(): boolean
}

export interface Slice<Row> {
  readonly rows: readonly Row[]
  /** Rows that were passed: given, skipped or counted. */
  readonly passed: number
  /** Undefined: there are no more. */
  readonly next: WalkPosition | undefined
}

/** Collects the rows of a slice. */
export class SliceBuilder<Row> {
  readonly rows: Row[] = []
  passed = 0
  readonly #skip: number
  readonly #most: number

  constructor({ skip, most }: SliceWanted) {
    this.#skip = skip
    this.#most = most
  }

  /** Nothing more may be passed. */
  get isFull(): boolean {
    return this.#most > 0 && this.rows.length >= this.#most
  }

  /** `row` is made only if it is given. */
  pass(row: () => Row): void {
    this.passed++
    if (this.#most > 0 && this.passed > this.#skip) this.rows.push(row())
  }
}

/**
 * Calls `visit` for each session from a place on, until `visit` gives the offset in that session at which it stopped or
 * the slice is over. Gives where the next slice begins.
 */
export function walkSessions(
  sessions: SessionTable,
  wanted: SliceWanted,
  visit: (session: Session, offset: number) => number | undefined,
): WalkPosition | undefined {
  let { place, offset } = wanted.from
  for (let looked = 1; place < sessions.places; looked++, place++, offset = 0) {
    const session = sessions.at(place)
    const stoppedAt = session === undefined ? undefined : visit(session, offset)
    if (stoppedAt !== undefined) return { place, offset: stoppedAt }
    if (looked % sessionsBetweenLooks === 0 && wanted.isOver()) return { place: place + 1, offset: 0 }
  }
  return undefined
}

/** The same along sessions that were chosen before, which are in the order of their places. */
export function walkChosen(
  chosen: readonly Session[],
  wanted: SliceWanted,
  visit: (session: Session, offset: number) => number | undefined,
): WalkPosition | undefined {
  const { from } = wanted
  let looked = 0
  for (const session of chosen) {
    const { place } = session
    if (place < from.place) continue
    const stoppedAt = visit(session, place === from.place ? from.offset : 0)
    if (stoppedAt !== undefined) return { place, offset: stoppedAt }
    if (++looked % sessionsBetweenLooks === 0 && wanted.isOver()) return { place: place + 1, offset: 0 }
  }
  return undefined
}
