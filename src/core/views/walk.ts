// Walks over all sessions in slices: each slice returns where the next one starts, and nothing is stored in between.

import type { SessionTable } from '../state/sessions/session-table.ts'
import type { Session } from '../state/sessions/session.ts'

/** Sessions that are visited between two checks of the clock. */
const sessionsBetweenLooks = 32

/** Start of the next slice. */
export interface WalkPosition {
  /** Place of a session. */
  readonly place: number
  /** Number of rows of that session that were passed. */
  readonly offset: number
}

export interface SliceWanted {
  readonly from: WalkPosition
  /** Number of rows to skip. */
  readonly skip: number
  /** Maximum number of rows; 0: they are only counted. */
  readonly maxRows: number
  /** Says that the slice must end. Checked at intervals, after some progress. */
  isOver(): boolean
}

export interface Slice<Row> {
  readonly rows: readonly Row[]
  /** Number of rows that were returned, skipped or counted. */
  readonly passed: number
  /** Undefined: there are no more. */
  readonly next: WalkPosition | undefined
}

/** Collects the rows of a slice. */
export class SliceBuilder<Row> {
  readonly rows: Row[] = []
  passed = 0
  readonly #skip: number
  readonly #maxRows: number

  constructor({ skip, maxRows }: SliceWanted) {
    this.#skip = skip
    this.#maxRows = maxRows
  }

  /** No further row is accepted. */
  get isFull(): boolean {
    return this.#maxRows > 0 && this.rows.length >= this.#maxRows
  }

  /** `row` is called only if the row is returned. */
  addRow(row: () => Row): void {
    this.passed++
    if (this.#maxRows > 0 && this.passed > this.#skip) this.rows.push(row())
  }
}

/**
 * Calls `visit` for each session from a place on, until `visit` returns the offset at which it stopped or the slice is
 * over. Returns where the next slice starts.
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

/** Does the same for chosen sessions, which are sorted by place. */
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
