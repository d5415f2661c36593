// What is to be sent, in order, as columns instead of objects: at millions of messages a second an object for each
// sending was a tenth of the time.
//
//   to:    connection | connection | ...
//   what:  Message    | ControlPacket or undefined | ...
//   head:  kind, flags and packet id packed into one small integer | ...
//   extra: PublishExtra or undefined | ...

import type { ControlPacket, PacketId, QoS } from '../protocol/index.ts'
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

export class SendList {
  readonly to: Connection[] = []
  readonly what: (Message | ControlPacket | undefined)[] = []
  readonly head: number[] = []
  readonly extra: (PublishExtra | undefined)[] = []

  get length(): number {
    return this.to.length
  }

  /** `head` as made by `publishHead`. */
  publish(connection: Connection, message: Message, head: number, extra: PublishExtra | undefined): void {
    this.to.push(connection)
    this.what.push(message)
    this.head.push(head)
    this.extra.push(extra)
  }

  acknowledge(connection: Connection, kind: SendKind, packetId: PacketId): void {
    this.to.push(connection)
    this.what.push(undefined)
    this.head.push(kind | (packetId << 8))
    this.extra.push(undefined)
  }

  packet(connection: Connection, packet: ControlPacket): void {
    this.to.push(connection)
    this.what.push(packet)
    this.head.push(sendKinds.packet)
    this.extra.push(undefined)
  }

  /** Empties the list but keeps its room: the next turn fills it again. */
  clear(): void {
    this.to.length = 0
    this.what.length = 0
    this.head.length = 0
    this.extra.length = 0
  }
}
