// How long a turn takes, how long a commit, and how long the first acknowledgement of a batch has waited for its disk:
//
//   turn:   first input ─────────────────── end of the turn
//   held:           first change of a batch ─────────────────── on disk
//   commit:                                  begun ──────────── on disk
//
// A look at the clock for each turn and three for each commit; none for a message.

import { createHistogramTable, Histograms } from '../../telemetry/index.ts'

const msPerSecond = 1_000

export class ShardMeters {
  readonly meters: Histograms
  /** 0 where none is. All by `performance.now()`. */
  #turnSinceMs = 0
  #gatheringSinceMs = 0
  #heldSinceMs = 0
  #commitSinceMs = 0

  /** `table` undefined: nobody will read it. */
  constructor(table: SharedArrayBuffer | undefined, shardNumber: number) {
    this.meters = table === undefined ? new Histograms(createHistogramTable(1), 0) : new Histograms(table, shardNumber)
  }

  beginTurn(): void {
    if (this.#turnSinceMs === 0) this.#turnSinceMs = performance.now()
  }

  endTurn(): void {
    if (this.#turnSinceMs === 0) return
    this.meters.observe('turn', (performance.now() - this.#turnSinceMs) / msPerSecond)
    this.#turnSinceMs = 0
  }

  /** Something waits for the disk. */
  noteGathering(): void {
    if (this.#gatheringSinceMs === 0) this.#gatheringSinceMs = performance.now()
  }

  /** What had gathered goes to the disk now, or had nothing for it. */
  takeBatch(isForDisk: boolean): void {
    if (isForDisk) {
      this.#commitSinceMs = performance.now()
      this.#heldSinceMs = this.#gatheringSinceMs === 0 ? this.#commitSinceMs : this.#gatheringSinceMs
    }
    this.#gatheringSinceMs = 0
  }

  /** It is there. */
  noteCommitted(): void {
    if (this.#commitSinceMs === 0) return
    const nowMs = performance.now()
    this.meters.observe('commit', (nowMs - this.#commitSinceMs) / msPerSecond)
    this.meters.observe('held', (nowMs - this.#heldSinceMs) / msPerSecond)
    this.#commitSinceMs = 0
  }
}
