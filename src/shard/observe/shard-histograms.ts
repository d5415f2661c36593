// Measures the duration of a turn, of a commit, and the time for which the first acknowledgement of a batch has waited:
//
//   turn:   first input ─────────────────── end of the turn
//   held:           first change of a batch ─────────────────── durable
//   commit:                                  started ────────── durable
//
// It reads the clock once per turn and three times per commit, not per message.

import { createHistogramTable, Histograms } from '../../telemetry/index.ts'

const msPerSecond = 1_000

export class ShardHistograms {
  readonly histograms: Histograms
  /** 0 if there is none. All by `performance.now()`. */
  #turnSinceMs = 0
  #gatheringSinceMs = 0
  #heldSinceMs = 0
  #commitSinceMs = 0

  /** `table` undefined: not collected. */
  constructor(table: SharedArrayBuffer | undefined, shardNumber: number) {
    this.histograms =
      table === undefined ? new Histograms(createHistogramTable(1), 0) : new Histograms(table, shardNumber)
  }

  beginTurn(): void {
    if (this.#turnSinceMs === 0) this.#turnSinceMs = performance.now()
  }

  endTurn(): void {
    if (this.#turnSinceMs === 0) return
    this.histograms.observe('turn', (performance.now() - this.#turnSinceMs) / msPerSecond)
    this.#turnSinceMs = 0
  }

  /** A batch has changes. */
  recordBatchChange(): void {
    if (this.#gatheringSinceMs === 0) this.#gatheringSinceMs = performance.now()
  }

  /** The batch is being written, or had nothing to write. */
  takeBatch(isForDisk: boolean): void {
    if (isForDisk) {
      this.#commitSinceMs = performance.now()
      this.#heldSinceMs = this.#gatheringSinceMs === 0 ? this.#commitSinceMs : this.#gatheringSinceMs
    }
    this.#gatheringSinceMs = 0
  }

  /** The batch is durable. */
  recordCommitted(): void {
    if (this.#commitSinceMs === 0) return
    const nowMs = performance.now()
    this.histograms.observe('commit', (nowMs - this.#commitSinceMs) / msPerSecond)
    this.histograms.observe('held', (nowMs - this.#heldSinceMs) / msPerSecond)
    this.#commitSinceMs = 0
  }
}
