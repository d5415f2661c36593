// Messages for peers, in order, as columns instead of objects, as in send-list.ts. Nearly all are publications for the
// subscribers of a peer, which need no object of their own.
//
//   to:    shard | shard | ...
//   what:  Message (plain, see `PeerSender`) or PeerMessage | ...
//   end:   of a run: where the frame of its last message ends | 0 | ...
//
// Plain messages whose frames are adjacent in the publisher's chunk form a *run*: one entry, the first message. The objects of
// the others are released at once, so that the garbage collector does not visit them.

import { Message, never } from '../messages/message.ts'
import type { PeerMessage, PeerSend } from './peer-messages.ts'
import { isStoredShard, type PeerNumber } from './peer-names.ts'

/** Sends messages to one shard. */
export interface PeerSender {
  send(message: PeerMessage): void
  /**
   * Sends a message to the non-shared subscribers, without a confirmation. The same as `createPlainPublish`, without its
   * object.
   */
  sendPlain(message: Message): void
  /**
   * Sends a run: `first` and the messages after it in its chunk up to `end`. Everything about them is in their frames.
   */
  sendRun(first: Message, end: number): void
}

/** Maximum bytes of a run: it must fit into a link buffer. */
const maxRunBytes = 32_768
/** Columns longer than this are replaced when they are emptied. */
const maxKeptLength = 65_536

export class PeerSendList {
  /** Only the first `length` entries of each column are valid. */
  #to: PeerNumber[] = []
  #what: (PeerMessage | Message | undefined)[] = []
  #end: number[] = []
  /** Only this class changes it. A field, because every turn reads it, also those of a node without peers. */
  length = 0
  /** By stored shard: index of the last entry for it if that is a run, else -1. */
  readonly #lastRun: number[] = []
  /** The same by local shard, whose numbers grow without an end. */
  readonly #lastRunOfLocals = new Map<PeerNumber, number>()

  push({ to, message }: PeerSend): void {
    this.#add(to, message, 0)
    this.#setLastRun(to, -1)
  }

  /** See `PeerSender`. */
  sendPlain(to: PeerNumber, message: Message): void {
    const index = (isStoredShard(to) ? this.#lastRun[to] : this.#lastRunOfLocals.get(to)) ?? -1
    if (index >= 0 && continuesRun(this.#what[index] as Message, this.#end[index], message)) {
      this.#end[index] = message.frameEnd
      return
    }
    const isAll = isAllFrame(message)
    this.#setLastRun(to, isAll ? this.length : -1)
    this.#add(to, message, isAll ? message.frameEnd : 0)
  }

  /** Sends everything in order. Messages for a shard without a sender are dropped. */
  drainTo(senderTo: (peer: PeerNumber) => PeerSender | undefined): void {
    for (let index = 0; index < this.length; index++) {
      const sender = senderTo(this.#to[index])
      const what = this.#what[index]
      if (sender === undefined || what === undefined) continue
      if (!(what instanceof Message)) sender.send(what)
      else if (this.#end[index] === 0) sender.sendPlain(what)
      else sender.sendRun(what, this.#end[index])
    }
  }

  /** Empties the list and keeps its memory, as `SendList.clear` does. */
  clear(): void {
    const length = this.length
    if (length === 0) return
    this.length = 0
    this.#lastRun.fill(-1)
    if (this.#lastRunOfLocals.size > 0) this.#lastRunOfLocals.clear()
    if (length > maxKeptLength) {
      this.#to = []
      this.#what = []
      this.#end = []
    } else this.#what.fill(undefined, 0, length)
  }

  #setLastRun(to: PeerNumber, index: number): void {
    if (isStoredShard(to)) this.#lastRun[to] = index
    else this.#lastRunOfLocals.set(to, index)
  }

  #add(to: PeerNumber, item: PeerMessage | Message, end: number): void {
    const index = this.length++
    this.#to[index] = to
    this.#what[index] = item
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
    next.frameEnd - first.frameStart <= maxRunBytes &&
    isAllFrame(next)
  )
}

/** Returns whether the frame contains everything about the message. */
export function isAllFrame(message: Message): boolean {
  return (
    message.frameShape !== 0 &&
    message.expiresAtMs === never &&
    message.publisherUsername === undefined &&
    !message.isByOwnRight &&
    message.publisherMountpoint === ''
  )
}
