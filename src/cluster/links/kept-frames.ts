// Numbered frames that the other life has not confirmed. After a reconnect they are sent again from the first one that it does not have.
//
//   confirmed | kept, written to this connection | kept, not written yet
//             ^ first                            ^ next to write        ^ last

import { createAssertionError } from '../../protocol/index.ts'
import { LinkFailure } from './link-failure.ts'

/** A frame in two parts: the body of data is memory that a shard has transferred. */
export interface KeptFrame {
  readonly head: Uint8Array
  readonly body: Uint8Array | undefined
}

/** Removed frames stay in the list until they are this number, and half of it. */
const minRemovedFrames = 64

export class KeptFrames {
  /** Bytes of all frames that are not confirmed. */
  bytes = 0
  #frames: (KeptFrame | undefined)[] = []
  /** Index of the first frame that is not confirmed. */
  #first = 0
  /** Index of the next frame to write. */
  #next = 0
  /** The number of `#frames[#first]` is one greater. */
  #confirmed = 0

  /** The number of the last frame. */
  get lastNumber(): number {
    return this.#confirmed + this.#frames.length - this.#first
  }

  /** The frame gets the number `lastNumber + 1`, which is already in its head. */
  add(frame: KeptFrame): void {
    this.#frames.push(frame)
    this.bytes += measureFrame(frame)
  }

  /** Returns the next frame to write; undefined: all are written. */
  takeNext(): KeptFrame | undefined {
    if (this.#next === this.#frames.length) return undefined
    const frame = this.#frames[this.#next++]
    if (frame === undefined) throw createAssertionError('a confirmed frame is written')
    return frame
  }

  get hasNext(): boolean {
    return this.#next < this.#frames.length
  }

  /** The other life has all frames up to `number`. Throws `LinkFailure` if it cannot have them. */
  confirm(number: number): void {
    const lastWritten = this.#confirmed + this.#next - this.#first
    if (number > lastWritten || number < this.#confirmed) {
      const range = `${this.#confirmed} to ${lastWritten}`
      throw new LinkFailure('bad-mark', `the other node confirms frame ${number}; it can have the frames ${range}`)
    }
    this.#remove(number)
  }

  /** A new connection: everything after `number` is written again. Throws `LinkFailure` if that is not possible. */
  resumeAfter(number: number): void {
    if (number > this.lastNumber) {
      throw new LinkFailure('bad-mark', `the other node has frame ${number} of ${this.lastNumber} that exist`)
    }
    if (number < this.#confirmed) {
      throw new LinkFailure('bad-mark', `the other node has ${number} frames, but has confirmed ${this.#confirmed}`)
    }
    this.#next = this.#first + (number - this.#confirmed)
    this.#remove(number)
  }

  #remove(upTo: number): void {
    while (this.#confirmed < upTo) {
      const frame = this.#frames[this.#first]
      if (frame === undefined) throw createAssertionError(`frame ${this.#confirmed + 1} is not kept`)
      this.bytes -= measureFrame(frame)
      this.#frames[this.#first] = undefined
      this.#first++
      this.#confirmed++
    }
    if (this.#first < minRemovedFrames || this.#first * 2 < this.#frames.length) return
    this.#frames = this.#frames.slice(this.#first)
    this.#next -= this.#first
    this.#first = 0
  }
}

function measureFrame({ head, body }: KeptFrame): number {
  return head.length + (body?.length ?? 0)
}
