// A store whose disk fails when a test says so.

import type { StoredChange, StoredRecord } from '../../src/core/index.ts'
import {
  type BodyReferences,
  type QueueEntry,
  type RecordRange,
  StorageFailure,
  type Store,
} from '../../src/storage/index.ts'

/**
 * How the next commits end: `none`: well; `before`: nothing is written; `after`: all is written, as when fsync fails
 * after the write went through.
 */
export type Fault = 'none' | 'before' | 'after'

/** Wraps a store. While `fault` is not `none` commits reject; from the first that did they reject until `reopen` succeeds. */
export class FaultyStore implements Store {
  readonly inner: Store
  fault: Fault = 'none'
  /** Reopening fails too: the disk is still full. */
  reopenFails = false
  /** The calls of `commit` and `reopen`, with how they ended. */
  readonly calls: string[] = []
  #mustReopen = false

  constructor(inner: Store) {
    this.inner = inner
  }

  async commit(changes: readonly (StoredChange | undefined)[]): Promise<void> {
    const { fault } = this
    if (this.#mustReopen) throw new Error('a commit without a reopen after one that failed')
    if (fault !== 'before') await this.inner.commit(changes)
    this.calls.push(fault === 'none' ? 'commit' : `commit failed ${fault}`)
    if (fault === 'none') return
    this.#mustReopen = true
    throw new StorageFailure('no space left on device')
  }

  read(range: RecordRange): AsyncIterable<StoredRecord> {
    return this.inner.read(range)
  }

  scanQueues(): AsyncIterable<readonly QueueEntry[]> {
    return this.inner.scanQueues()
  }

  countBodyReferences(): AsyncIterable<readonly BodyReferences[]> {
    return this.inner.countBodyReferences()
  }

  async reopen(): Promise<void> {
    this.calls.push(this.reopenFails ? 'reopen failed' : 'reopen')
    if (this.reopenFails) throw new StorageFailure('still no space left on device')
    await this.inner.reopen()
    this.#mustReopen = false
  }

  async close(): Promise<void> {
    await this.inner.close()
  }
}
