// What goes to other shards, in order, as columns instead of objects, as in send-list.ts: nearly all of it is messages
// that somebody subscribes to there, and these need not even an object that says so.
//
//   to:    shard | shard | ...
//   what:  Message (plain, see `PeerLine`) or PeerMessage | ...

import { Message } from './message.ts'
import type { PeerMessage, PeerNumber, PeerSend } from './peer-messages.ts'

/** The way to one shard. */
export interface PeerLine {
  send(message: PeerMessage): void
  /** What `plainPublish` makes of the message, without the making: to the plain subscribers there, and nobody waits for it. */
  pass(message: Message): void
}

/** Columns longer than this are given up when they are emptied. */
const longestKept = 65_536

export class PeerSendList {
  /** Only the first `length` entries of each column mean anything. */
  #to: PeerNumber[] = []
  #what: (PeerMessage | Message | undefined)[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  push({ to, message }: PeerSend): void {
    this.#add(to, message)
  }

  /** See `PeerLine`. */
  pass(to: PeerNumber, message: Message): void {
    this.#add(to, message)
  }

  /** Says everything in order. What is for a shard that has no line is said to nobody. */
  tell(lineTo: (peer: PeerNumber) => PeerLine | undefined): void {
    // What goes one behind the other goes the same way nearly always.
    let to = -1
    let line: PeerLine | undefined
    for (let index = 0; index < this.#length; index++) {
      if (this.#to[index] !== to) {
        to = this.#to[index]
        line = lineTo(to)
      }
      const what = this.#what[index]
      if (line === undefined || what === undefined) continue
      if (what instanceof Message) line.pass(what)
      else line.send(what)
    }
  }

  /** Empties the list but keeps its room, as `SendList.clear` does. */
  clear(): void {
    const length = this.#length
    if (length === 0) return
    this.#length = 0
    if (length > longestKept) {
      this.#to = []
      this.#what = []
    } else this.#what.fill(undefined, 0, length)
  }

  #add(to: PeerNumber, what: PeerMessage | Message): void {
    const index = this.#length++
    this.#to[index] = to
    this.#what[index] = what
  }
}
