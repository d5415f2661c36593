// What is to be sent, in order, as columns instead of objects: at millions of messages a second an object for each
// sending was a tenth of the time.
//
//   to:    connection | connection | ...
//   what:  Message    | ControlPacket or undefined | ...
//   head:  kind, flags and packet id packed into one small integer | ...
//   extra: PublishExtra or undefined | ...

import { failedAssertion, type ControlPacket, type PacketId, type QoS } from '../../protocol/index.ts'
import type { Connection } from './connection.ts'
import type { Message } from './message.ts'

/** Kinds of sending. The four acknowledgements are here without reason and properties; with them they are packets. */
export const sendKinds = { publish: 0, puback: 1, pubrec: 2, pubrel: 3, pubcomp: 4, packet: 5 } as const
export type SendKind = (typeof sendKinds)[keyof typeof sendKinds]

/** What few sendings carry beyond message and head. */
export interface PublishExtra {
  readonly subscriptionIdentifiers: readonly number[] | undefined
  /** 0: none. */
  readonly topicAlias: number
  /** The alias is known to the client: the topic is left out. */
  readonly topicIsOmitted: boolean
}

/** bits 0-2 kind, 3 retain, 4 dup, 5-6 qos, 8-23 packet id */
export const headBits = {
  kind: (head: number): SendKind => (head & 7) as SendKind,
  retain: (head: number): boolean => (head & 8) !== 0,
  dup: (head: number): boolean => (head & 16) !== 0,
  qos: (head: number): QoS => ((head >> 5) & 3) as QoS,
  packetId: (head: number): PacketId => (head >> 8) & 0xffff,
} as const

export const publishHead = (qos: QoS, flags: { retain: boolean; dup: boolean }, packetId: PacketId): number =>
  sendKinds.publish | (flags.retain ? 8 : 0) | (flags.dup ? 16 : 0) | (qos << 5) | (packetId << 8)

/** Columns longer than this are given up when they are emptied: one great fan-out does not keep its room for ever. */
const longestKept = 65_536

export class SendList {
  /** Only the first `length` entries of each column mean anything. */
  to: (Connection | undefined)[] = []
  what: (Message | ControlPacket | undefined)[] = []
  head: number[] = []
  extra: (PublishExtra | undefined)[] = []
  #length = 0
  /** Some entry has an `extra`; else that column, which few need, is not touched. */
  #hasExtras = false

  get length(): number {
    return this.#length
  }

  /** `head` as made by `publishHead`. */
  publish(connection: Connection, message: Message, head: number, extra: PublishExtra | undefined): void {
    this.#add(connection, message, head, extra)
  }

  acknowledge(connection: Connection, kind: SendKind, packetId: PacketId): void {
    this.#add(connection, undefined, kind | (packetId << 8), undefined)
  }

  packet(connection: Connection, packet: ControlPacket): void {
    this.#add(connection, packet, sendKinds.packet, undefined)
  }

  /** Adds all that is in the other list, in its order. */
  append(other: SendList): void {
    for (let index = 0; index < other.length; index++)
      this.#add(other.connectionAt(index), other.what[index], other.head[index], other.extra[index])
  }

  /** The connection that the entry is for. */
  connectionAt(index: number): Connection {
    const connection = this.to[index]
    if (connection === undefined) throw failedAssertion(`there is no sending ${index}`)
    return connection
  }

  /**
   * Empties the list but keeps its room: an array that is cut to nothing and filled again is made anew each time. What
   * it referred to is let go, or a chunk would live until its place is taken. By hand: a list is emptied after each chunk,
   * has few entries then, and `fill` leaves JavaScript for each column.
   */
  clear(): void {
    const length = this.#length
    if (length === 0) return
    this.#length = 0
    if (length > longestKept) {
      this.to = []
      this.what = []
      this.head = []
      this.extra = []
      this.#hasExtras = false
      return
    }
    const { to, what, extra } = this
    for (let index = 0; index < length; index++) {
      to[index] = undefined
      what[index] = undefined
    }
    if (!this.#hasExtras) return
    this.#hasExtras = false
    for (let index = 0; index < length; index++) extra[index] = undefined
  }

  #add(
    connection: Connection,
    what: Message | ControlPacket | undefined,
    head: number,
    extra: PublishExtra | undefined,
  ): void {
    const index = this.#length++
    this.to[index] = connection
    this.what[index] = what
    this.head[index] = head
    if (extra !== undefined) {
      this.#hasExtras = true
      this.extra[index] = extra
    } else if (index >= this.extra.length) {
      this.extra[index] = undefined
    }
  }
}
