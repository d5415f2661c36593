// Packets to send, in order, as columns instead of objects. At millions of messages per second an object for each packet
// took a tenth of the time.
//
//   to:    connection | connection | ...
//   what:  Message    | ControlPacket or undefined | ...
//   head:  kind, flags and packet identifier packed into one small integer | ...
//   extra: PublishExtra or undefined | ...

import { createAssertionError, type ControlPacket, type PacketId, type QoS } from '../../protocol/index.ts'
import type { Connection } from './connection.ts'
import type { Message } from '../messages/message.ts'

/** Kinds of entries. The four acknowledgements have neither reason nor properties here; with these they are packets. */
export const sendKinds = { publish: 0, puback: 1, pubrec: 2, pubrel: 3, pubcomp: 4, packet: 5 } as const
export type SendKind = (typeof sendKinds)[keyof typeof sendKinds]

/** Fields of a PUBLISH that only few entries need beyond message and head. */
export interface PublishExtra {
  readonly subscriptionIdentifiers: readonly number[] | undefined
  /** 0: none. */
  readonly topicAlias: number
  /** The client knows the alias, so the topic is omitted. */
  readonly topicIsOmitted: boolean
}

/** Bits 0-2: kind, 3: retain, 4: dup, 5-6: QoS, 8-23: packet identifier. */
export const headBits = {
  kind: (head: number): SendKind => (head & 7) as SendKind,
  retain: (head: number): boolean => (head & 8) !== 0,
  dup: (head: number): boolean => (head & 16) !== 0,
  qos: (head: number): QoS => ((head >> 5) & 3) as QoS,
  packetId: (head: number): PacketId => (head >> 8) & 0xffff,
} as const

export const publishHead = (qos: QoS, flags: { retain: boolean; dup: boolean }, packetId: PacketId): number =>
  sendKinds.publish | (flags.retain ? 8 : 0) | (flags.dup ? 16 : 0) | (qos << 5) | (packetId << 8)

/**
 * Columns longer than this are replaced when they are emptied: one large fan-out must not occupy the memory forever.
 */
const maxKeptLength = 65_536

export class SendList {
  /** Only the first `length` entries of each column are valid. */
  to: (Connection | undefined)[] = []
  what: (Message | ControlPacket | undefined)[] = []
  head: number[] = []
  extra: (PublishExtra | undefined)[] = []
  #length = 0
  /** Whether an entry has an `extra`. If not, that column is not touched. */
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

  addPacket(connection: Connection, packet: ControlPacket): void {
    this.#add(connection, packet, sendKinds.packet, undefined)
  }

  /** Adds all entries of the other list, in its order. */
  append(other: SendList): void {
    for (let index = 0; index < other.length; index++)
      this.#add(other.getConnection(index), other.what[index], other.head[index], other.extra[index])
  }

  /** Returns the connection of the entry. */
  getConnection(index: number): Connection {
    const connection = this.to[index]
    if (connection === undefined) throw createAssertionError(`there is no sending ${index}`)
    return connection
  }

  /**
   * Empties the list and keeps its memory, because an array that is cut and refilled is allocated again each time.
   * References are cleared, otherwise chunks would live until their entry is overwritten. The loop is faster than
   * `fill`: lists are emptied after each chunk and have few entries, and `fill` leaves JavaScript for each column.
   */
  clear(): void {
    const length = this.#length
    if (length === 0) return
    this.#length = 0
    if (length > maxKeptLength) {
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
    item: Message | ControlPacket | undefined,
    head: number,
    extra: PublishExtra | undefined,
  ): void {
    const index = this.#length++
    this.to[index] = connection
    this.what[index] = item
    this.head[index] = head
    if (extra !== undefined) {
      this.#hasExtras = true
      this.extra[index] = extra
    } else if (index >= this.extra.length) {
      this.extra[index] = undefined
    }
  }
}
