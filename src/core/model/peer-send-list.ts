// What goes to other shards, in order, as columns instead of objects, as in send-list.ts: nearly all of it is messages
// that somebody subscribes to there, and these need not even an object that says so.
//
//   to:    shard | shard | ...
//   what:  Message (plain, see `PeerLine`) or PeerMessage | ...
//   end:   of a run: where the frame of its last message ends | 0 | ...
//
// Plain messages whose frames lie one behind the other in the chunk of their publisher are a *run*: one entry, which is
// its first message. The others are let go at once, so that the collector never sees them.

import { Message, never } from './message.ts'
import type { PeerMessage, PeerNumber, PeerSend } from './peer-messages.ts'

/** The way to one shard. */
export interface PeerSender {
  send(message: PeerMessage): void
  /** What `plainPublish` makes of the message, without the making: to the plain subscribers there, and nobody waits for it. */
  sendPlain(message: Message): void
  /**
   * The same of each message of a run, of which there is nothing to say that is not in its frame: of `first`, and of those
   * behind it in its chunk up to `end`.
   */
  sendRun(first: Message, end: number): void
}

/** A run is cut here: what carries it has room for so many bytes. */
const longestRunBytes = 32_768
/** Columns longer than this are given up when they are emptied. */
const longestKept = 65_536

export class PeerSendList {
  /** Only the first `length` entries of each column mean anything. */
  #to: PeerNumber[] = []
  #what: (PeerMessage | Message | undefined)[] = []
  #end: number[] = []
  #length = 0
  /** By shard: the last entry for it, if that is a run; else -1. */
  readonly #lastRun: number[] = []

  get length(): number {
    return this.#length
  }

  push({ to, message }: PeerSend): void {
    this.#add(to, message, 0)
    this.#lastRun[to] = -1
  }

  /** See `PeerLine`. */
  sendPlain(to: PeerNumber, message: Message): void {
    const index = this.#lastRun[to] ?? -1
    if (index >= 0 && continuesRun(this.#what[index] as Message, this.#end[index], message)) {
      this.#end[index] = message.frameEnd
      return
    }
    const isAll = isAllFrame(message)
    this.#lastRun[to] = isAll ? this.#length : -1
    this.#add(to, message, isAll ? message.frameEnd : 0)
  }

  /** Says everything in order. What is for a shard that has no line is said to nobody. */
  drainTo(lineTo: (peer: PeerNumber) => PeerSender | undefined): void {
    for (let index = 0; index < this.#length; index++) {
      const line = lineTo(this.#to[index])
      const what = this.#what[index]
      if (line === undefined || what === undefined) continue
      if (!(what instanceof Message)) line.send(what)
      else if (this.#end[index] === 0) line.sendPlain(what)
      else line.sendRun(what, this.#end[index])
    }
  }

  /** Empties the list but keeps its room, as `SendList.clear` does. */
  clear(): void {
    const length = this.#length
    if (length === 0) return
    this.#length = 0
    this.#lastRun.fill(-1)
    if (length > longestKept) {
      this.#to = []
      this.#what = []
      this.#end = []
    } else this.#what.fill(undefined, 0, length)
  }

  #add(to: PeerNumber, what: PeerMessage | Message, end: number): void {
    const index = this.#length++
    this.#to[index] = to
    this.#what[index] = what
    this.#end[index] = end
  }
}

function continuesRun(first: Message, end: number, next: Message): boolean {
  return (
    next.chunk === first.chunk &&
    next.frameStart === end &&
    next.frameShape === first.frameShape &&
    next.publishedAtMs === first.publishedAtMs &&
    next.publisher === first.publisher &&
    next.frameEnd - first.frameStart <= longestRunBytes &&
    isAllFrame(next)
  )
}

/** There is nothing to say of it that is not in its frame. */
export function isAllFrame(message: Message): boolean {
  return (
    message.frameShape !== 0 &&
    message.expiresAtMs === never &&
    message.publisherUsername === undefined &&
    !message.isByOwnRight &&
    message.publisherMountpoint === ''
  )
}
