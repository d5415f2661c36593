// Wills whose messages are read from disk before they are published. The wills of one client are read and published one after
// the other, in the order in which they became due.
//
//   waiting ──► being read ──► published ──its batch is durable──► done       at most 128 between the first and the last arrow
//
// Without this limit, all wills of very many clients that fail at once would be in memory at the same time.

import { PendingQueue } from './pending-queue.ts'

/** Maximum number of wills that are being read, or are published and not durable. With the largest payload they use 8 MiB. */
const maxInProgress = 128

/** A will that is being read and published. */
export interface WillLoad<Session extends object, Message extends object> {
  /** The client ID of its publisher. */
  readonly clientId: string
  /** The name of its record. */
  readonly name: string
  /** Undefined: the message must be read. Otherwise the will only waits for an earlier will of the same client. */
  readonly message: Message | undefined
  /** The session of the will; undefined: there is none, and the will is known from its record only. */
  readonly session: Session | undefined
  /** Of a delayed message: the number of rules that led to it. */
  readonly ruleDepth?: number
}

export class WillLoads<Session extends object, Message extends object> {
  readonly #byClient = new Map<string, WillLoad<Session, Message>[]>()
  /** Wills to read. Each is the first of its client. */
  readonly #waiting = new PendingQueue<WillLoad<Session, Message>>()
  readonly #unwritten = new PendingQueue<{ readonly batch: number }>()
  #inProgress = 0

  get isEmpty(): boolean {
    return this.#byClient.size === 0
  }

  /** Returns whether an earlier will of this client is not published yet. */
  has(clientId: string): boolean {
    return this.#byClient.has(clientId)
  }

  add(load: WillLoad<Session, Message>): void {
    const loads = this.#byClient.get(load.clientId)
    if (loads !== undefined) return void loads.push(load)
    this.#byClient.set(load.clientId, [load])
    this.#waiting.push(load)
  }

  /** Returns the next will to read; undefined: none, or the maximum is being read. */
  next(): WillLoad<Session, Message> | undefined {
    while (this.#inProgress < maxInProgress) {
      const load = this.#waiting.shift()
      if (load === undefined) return undefined
      if (!this.isFirst(load)) continue
      this.#inProgress++
      return load
    }
    return undefined
  }

  /** The will needs no memory any more when this batch is durable. */
  recordRead(batch: number): void {
    this.#unwritten.push({ batch })
  }

  recordCommitted(number: number): void {
    for (let next = this.#unwritten.peek(); next !== undefined && next.batch <= number; next = this.#unwritten.peek()) {
      this.#unwritten.shift()
      this.#inProgress--
    }
  }

  /**
   * Removes the first will of its client, which was published. Returns the next one if that is in memory; otherwise it
   * is read.
   */
  end(load: WillLoad<Session, Message>): WillLoad<Session, Message> | undefined {
    const loads = this.#byClient.get(load.clientId)
    // The will was dropped while it was being read.
    if (loads?.[0] !== load) return undefined
    loads.shift()
    const [next] = loads
    if (next === undefined) this.#byClient.delete(load.clientId)
    else if (next.message === undefined) this.#waiting.push(next)
    return next
  }

  /** Returns whether the will is the next of its client. False if it was dropped while it was being read. */
  isFirst(load: WillLoad<Session, Message>): boolean {
    return this.#byClient.get(load.clientId)?.[0] === load
  }

  /** Removes all wills of the clients that `isOf` selects. */
  drop(isOf: (clientId: string) => boolean): WillLoad<Session, Message>[] {
    const dropped: WillLoad<Session, Message>[] = []
    for (const [clientId, loads] of this.#byClient) {
      if (!isOf(clientId)) continue
      dropped.push(...loads)
      this.#byClient.delete(clientId)
    }
    return dropped
  }
}
