// Retained messages that a CoAP client reads: each through a subscription that ends with the message, or after a time without one.

import type { PublishPacket } from '../../protocol/index.ts'

/** Maximum time for a retained message from another shard. */
const retainedWaitMs = 500

interface RetainedRead {
  readonly atMs: number
  /** Undefined: there is no message. */
  readonly done: (packet: PublishPacket | undefined) => void
}

export class RetainedReads {
  /** By topic, oldest first. */
  readonly #reads = new Map<string, RetainedRead>()

  has(topic: string): boolean {
    return this.#reads.has(topic)
  }

  add(topic: string, nowMs: number, done: RetainedRead['done']): void {
    this.#reads.set(topic, { atMs: nowMs + retainedWaitMs, done })
  }

  delete(topic: string): void {
    this.#reads.delete(topic)
  }

  end(topic: string, packet: PublishPacket | undefined): void {
    const read = this.#reads.get(topic)
    this.#reads.delete(topic)
    read?.done(packet)
  }

  /** When `endDue` must be called. */
  get dueAtMs(): number {
    for (const { atMs } of this.#reads.values()) return atMs
    return Infinity
  }

  endDue(nowMs: number): void {
    for (const [topic, { atMs }] of this.#reads) {
      if (atMs > nowMs) return
      this.end(topic, undefined)
    }
  }
}
