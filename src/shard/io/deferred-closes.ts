// Streams that may end only when what their clients are told is on disk.

import type { ClientOutput } from './client-output.ts'

export class DeferredCloses {
  #closes: { readonly output: ClientOutput; readonly afterBatch: number }[] = []

  add(output: ClientOutput, afterBatch: number): void {
    this.#closes.push({ output, afterBatch })
  }

  /** Those that waited for batches up to this one. */
  take(batch: number): ClientOutput[] {
    if (this.#closes.length === 0) return []
    const ready = this.#closes.filter(({ afterBatch }) => afterBatch <= batch)
    this.#closes = this.#closes.filter(({ afterBatch }) => afterBatch > batch)
    return ready.map(({ output }) => output)
  }
}
