import type { Store } from '../../src/storage/index.ts'

/** A copy of the store with another `readQueue`. */
export function withReadQueue(inner: Store, readQueue: Store['readQueue']): Store {
  return {
    keepsSnapshots: inner.keepsSnapshots,
    commit: (changes) => inner.commit(changes),
    read: (range) => inner.read(range),
    readQueue,
    scanQueues: () => inner.scanQueues(),
    countPayloadReferences: () => inner.countPayloadReferences(),
    shareClientIds: () => inner.shareClientIds(),
    reopen: () => inner.reopen(),
    close: () => inner.close(),
  }
}
