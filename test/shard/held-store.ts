// An in-memory store whose commits wait or fail as the test sets.

import {
  openMemoryStore,
  type QueueRange,
  type RecordRange,
  StorageFailure,
  type Store,
} from '../../src/storage/index.ts'

type Changes = Parameters<Store['commit']>[0]

export class HeldStore implements Store {
  readonly keepsSnapshots = true
  readonly #inner = openMemoryStore()
  /** Commits wait for `release`. */
  isHeld = false
  /** Commits fail, as on a full disk. */
  isFailing = false
  /** Queue reads fail, as with an unreadable block. */
  readsFail = false
  /** Changes of each commit, in order, including repeated commits. */
  readonly attempts: Changes[] = []
  /** Ranges of the queue reads. */
  readonly queueReads: QueueRange[] = []
  reopenings = 0
  readonly #waiting: (() => void)[] = []

  async commit(changes: Changes): Promise<void> {
    this.attempts.push(changes)
    if (this.isHeld) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    if (this.isFailing) throw new StorageFailure('no space left on device')
    await this.#inner.commit(changes)
  }

  /** Completes the current commit, or fails it if `isFailing`. */
  release(): void {
    for (const go of this.#waiting.splice(0)) go()
  }

  read(range: RecordRange): ReturnType<Store['read']> {
    return this.#inner.read(range)
  }

  readQueue(range: QueueRange): ReturnType<Store['readQueue']> {
    this.queueReads.push(range)
    if (this.readsFail) throw new StorageFailure('input/output error')
    return this.#inner.readQueue(range)
  }

  scanQueues(): ReturnType<Store['scanQueues']> {
    return this.#inner.scanQueues()
  }

  shareClientIds(): () => void {
    return this.#inner.shareClientIds()
  }

  countPayloadReferences(): ReturnType<Store['countPayloadReferences']> {
    return this.#inner.countPayloadReferences()
  }

  async reopen(): Promise<void> {
    this.reopenings += 1
    if (this.isFailing) throw new StorageFailure('no space left on device')
  }

  close(): Promise<void> {
    return this.#inner.close()
  }
}
