// Retained messages that a CoAP client reads: each through a subscription that ends with the message. The broker sends
// PINGRESP after the retained messages of earlier subscriptions: if PINGRESP comes first, there is no message.

import { type PublishPacket, reasonCodes } from '../../protocol/index.ts'

/** Maximum time for a retained message. Large ones come from disk, and some from another shard. */
const retainedWaitMs = 10_000
/** Maximum requests for one topic at one time. */
const maxJoined = 256

/** If there is no packet, the reason code is the reason: success means that there is no message. */
export type RetainedReadDone = (packet: PublishPacket | undefined, reasonCode: number) => void

interface RetainedRead {
  readonly atMs: number
  /** The client observed the topic before: then the message is for this read, and not for the observations. */
  readonly isObserved: boolean
  /** Number of the PINGREQ after its SUBACK; Infinity before that. */
  pingNumber: number
  /** One for each request that waits for the message. */
  readonly done: RetainedReadDone[]
  /** Ends the subscription. */
  readonly end: () => void
}

export class RetainedReads {
  /** By topic, oldest first. */
  readonly #reads = new Map<string, RetainedRead>()

  has(topic: string): boolean {
    return this.#reads.has(topic)
  }

  add(
    topic: string,
    {
      atMs,
      isObserved,
      done,
    }: { readonly atMs: number; readonly isObserved: boolean; readonly done: RetainedReadDone },
    end: () => void,
  ): void {
    this.#reads.set(topic, { atMs: atMs + retainedWaitMs, isObserved, pingNumber: Infinity, done: [done], end })
  }

  /** Waits for the message that is being read already. Returns false if too many requests do. */
  join(topic: string, done: RetainedReadDone): boolean {
    const waiting = this.#reads.get(topic)?.done ?? []
    if (waiting.length >= maxJoined) return false
    waiting.push(done)
    return true
  }

  /** The broker has acknowledged the subscription, and this PINGREQ is sent. */
  recordSubscribed(topic: string, pingNumber: number): void {
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

  /** The broker has refused the subscription. */
  refuse(topic: string, reasonCode: number): void {
    const read = this.#reads.get(topic)
    this.#reads.delete(topic)
    for (const done of read?.done ?? []) done(undefined, reasonCode)
  }

  /** Takes a retained message. Returns true if it is for no observation. */
  take(topic: string, packet: PublishPacket): boolean {
    const isForReadOnly = this.#reads.get(topic)?.isObserved === true
    this.#end(topic, packet, reasonCodes.success)
    return isForReadOnly
  }

  #end(topic: string, packet: PublishPacket | undefined, reasonCode: number): void {
    const read = this.#reads.get(topic)
    if (read === undefined) return
    this.#reads.delete(topic)
    read.end()
    for (const done of read.done) done(packet, reasonCode)
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
