// Messages of one session on their way to its client: in flight, or waiting for the in-flight window. Most sessions have none,
// so the lists are undefined until they are used.

import { isInternalClient, largestInternalPacketId } from '../../messages/internal-clients.ts'
import { InflightWindow, type InFlight } from './inflight-window.ts'
import { PendingQueue } from './pending-queue.ts'

export class OutgoingMessages<D extends InFlight> {
  inflight: InflightWindow<D> | undefined
  pending: PendingQueue<D> | undefined
  /**
   * In flight since an earlier connection and still to be sent again, because the client's Receive Maximum is lower
   * now.
   */
  postponed: PendingQueue<D> | undefined
  /** Maximum deliveries in flight: the client's Receive Maximum or the broker's limit. */
  windowLimit: number
  /** The same, or 0 while the client is sent nothing: see `outgoing/deliveries-rate.ts`. */
  openWindow: number
  /** Memory of deliveries, in flight or queued: see `../../outgoing/held-bytes.ts`. */
  heldBytes: number
  isRetryScheduled: boolean
  readonly #largestPacketId: number | undefined

  constructor(clientId: string) {
    this.inflight = undefined
    this.pending = undefined
    this.postponed = undefined
    this.windowLimit = 0
    this.openWindow = 0
    this.heldBytes = 0
    this.isRetryScheduled = false
    this.#largestPacketId = isInternalClient(clientId) ? largestInternalPacketId : undefined
  }

  get inflightCount(): number {
    return this.inflight === undefined ? 0 : this.inflight.count
  }

  get pendingCount(): number {
    return this.pending === undefined ? 0 : this.pending.length
  }

  ensureWindow(): InflightWindow<D> {
    this.inflight ??= new InflightWindow(this.#largestPacketId)
    return this.inflight
  }

  ensureQueue(): PendingQueue<D> {
    this.pending ??= new PendingQueue()
    return this.pending
  }

  /** The session has ended. */
  release(): void {
    this.inflight = undefined
    this.pending = undefined
    this.postponed = undefined
  }
}
