// Commit barriers and commands that wait for the store. The changes themselves are in `model/batches.ts`.

import type { CommitBarrier } from '../model/commit-barrier.ts'
import type { RequestId } from '../model/inputs.ts'
import { PendingQueue } from './sessions/pending-queue.ts'

export class StorageState {
  /** False: the last commit failed and is retried. */
  isHealthy = true
  /** Barriers that wait for the commit of a batch, in the order of the batches. */
  readonly barriersByBatch = new PendingQueue<{ readonly batch: number; readonly barrier: CommitBarrier }>()
  /** Commands of the API that wait for a commit, here or on a peer. */
  readonly pendingCommands = new Set<RequestId>()
}
