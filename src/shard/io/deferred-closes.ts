// Streams that end only after a commit, because their last packets wait for it.

import type { ClientOutput } from './client-output.ts'

export class DeferredCloses {
  #closes: { readonly output: ClientOutput; readonly afterBatch: number }[] = []

  add(output: ClientOutput, afterBatch: number): void {
    this.#closes.push({ output, afterBatch })
  }

  /** Returns and removes the connections that waited for batches up to this one. */
  take(batch: number): ClientOutput[] {
    if (this.#closes.length === 0) return []
    const ready = this.#closes.filter(({ afterBatch }) => afterBatch <= batch)
    this.#closes = this.#closes.filter(({ afterBatch }) => afterBatch > batch)
    return ready.map(({ output }) => output)
  }
}
