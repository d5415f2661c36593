// Retained messages that a CoAP client reads: each through a subscription that ends with the message. The broker sends
// PINGRESP after the retained messages of earlier subscriptions: if PINGRESP comes first, there is no message.

import { type PublishPacket, reasonCodes } from '../../protocol/index.ts'

/** Maximum time for a retained message. Large ones come from disk, and some from another shard. */
const retainedWaitMs = 10_000

/** If there is no packet, the reason code is the reason: success means that there is no message. */
export type RetainedReadDone = (packet: PublishPacket | undefined, reasonCode: number) => void

interface RetainedRead {
  readonly atMs: number
  /** Number of the PINGREQ after its SUBACK; Infinity before that. */
  pingNumber: number
  readonly done: RetainedReadDone
}

export class RetainedReads {
  /** By topic, oldest first. */
  readonly #reads = new Map<string, RetainedRead>()

  has(topic: string): boolean {
    return this.#reads.has(topic)
  }

  add(topic: string, nowMs: number, done: RetainedReadDone): void {
    this.#reads.set(topic, { atMs: nowMs + retainedWaitMs, pingNumber: Infinity, done })
  }

  /** The broker has acknowledged the subscription, and this PINGREQ is sent. */
  noteSubscribed(topic: string, pingNumber: number): void {
    const read = this.#reads.get(topic)
    if (read !== undefined) read.pingNumber = pingNumber
  }

  handlePingresp(receivedPingresps: number): void {
    for (const [topic, { pingNumber }] of this.#reads)
      if (pingNumber <= receivedPingresps) this.#end(topic, undefined, reasonCodes.success)
  }

  endAll(reasonCode: number): void {
    for (const topic of this.#reads.keys()) this.#end(topic, undefined, reasonCode)
  }

  delete(topic: string): void {
    this.#reads.delete(topic)
  }

  handleRetained(topic: string, packet: PublishPacket): void {
    this.#end(topic, packet, reasonCodes.success)
  }

  #end(topic: string, packet: PublishPacket | undefined, reasonCode: number): void {
    const read = this.#reads.get(topic)
    this.#reads.delete(topic)
    read?.done(packet, reasonCode)
  }

  /** Time at which `endDue` must be called. */
  get dueAtMs(): number {
    for (const { atMs } of this.#reads.values()) return atMs
    return Infinity
  }

  endDue(nowMs: number): void {
    for (const [topic, { atMs }] of this.#reads) {
      if (atMs > nowMs) return
      this.#end(topic, undefined, reasonCodes.serverBusy)
    }
  }
}
