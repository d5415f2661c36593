// The last step inside the core: which of the two lists a sending goes to. Order is kept here and nowhere else.

import type { ControlPacket, QoS } from '../../protocol/index.ts'
import { AckPacket, measurePublish, reasonCodes } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import type { Ack, DeferredAck } from '../model/deferred-ack.ts'
import { remainingSeconds, withTopic, type Message } from '../model/message.ts'
import { topicBelow } from '../namespaces/mountpoint.ts'
import { headBits, sendKinds, type PublishExtra, type SendList } from '../model/send-list.ts'
import { aliasFor } from './topic-aliases.ts'

/** Where what is free to leave goes: at once, or behind what this connection is still waiting for. */
export function sendsOf(state: BrokerState, connection: Connection): SendList {
  return connection.sendsDeferredUntilBatch > state.committedBatch ? sendAllAfterCommit(state, connection) : state.sends
}

/** From here on everything for this connection waits for the batch that is being gathered. */
export function sendAllAfterCommit(state: BrokerState, connection: Connection): SendList {
  connection.sendsDeferredUntilBatch = state.openBatch.number
  return state.openBatch.sendsAfterCommit
}

export function sendPublish(list: SendList, connection: Connection, message: Message, head: number): void {
  connection.unsentBytes += message.frameEnd - message.frameStart
  list.publish(connection, message, head, undefined)
}

/** As `sendPublish`, for the few that need subscription identifiers or have topic aliases or a mount point. */
export function sendPublishWithExtra(
  state: BrokerState,
  connection: Connection,
  message: Message,
  how: { list: SendList; head: number; subscriptionIdentifiers: readonly number[] | undefined },
): void {
  connection.unsentBytes += message.frameEnd - message.frameStart
  const told = asToldTo(state, connection, message)
  // An alias counts from the packet that introduces it: what waits for the disk may be passed, so it has none.
  const mayHaveAlias = how.list === state.sends && hasRoomForAlias(state, connection, told, how)
  const alias = mayHaveAlias ? aliasFor(state, connection, told) : undefined
  const extra: PublishExtra = {
    subscriptionIdentifiers: how.subscriptionIdentifiers,
    topicAlias: alias === undefined ? 0 : alias.topicAlias,
    topicIsOmitted: alias !== undefined && alias.isKnown,
  }
  how.list.publish(connection, told, how.head, extra)
}

/** The message with the topic as this client knows it. The bytes are the same ones. */
function asToldTo(state: BrokerState, connection: Connection, message: Message): Message {
  const topic = topicBelow(state.topics, connection.mountpoint, message.topic)
  return topic === message.topic ? message : withTopic(message, topic)
}

/** What makes a PUBLISH of one client larger than that of another. */
interface SizeTraits {
  readonly qos: QoS
  readonly subscriptionIdentifiers: readonly number[] | undefined
}

/** [MQTT5-3.1.2-24] Nothing larger than the client's Maximum Packet Size is sent to it. */
export function fits(state: BrokerState, connection: Connection, message: Message, traits: SizeTraits): boolean {
  const { maximumPacketBytes } = connection
  if (maximumPacketBytes === Infinity) return true
  const told = asToldTo(state, connection, message)
  return bytesOf(state, connection, told, { ...traits, topicAlias: 0 }) <= maximumPacketBytes
}

/** The same of QoS 0; with nothing but arguments, as it is on the way of every message. */
export function fitsAtMostOnce(
  state: BrokerState,
  connection: Connection,
  message: Message,
  subscriptionIdentifiers: readonly number[] | undefined,
): boolean {
  if (connection.maximumPacketBytes === Infinity) return true
  return fits(state, connection, message, { qos: 0, subscriptionIdentifiers })
}

/** What only fits without an alias goes without one. */
function hasRoomForAlias(
  state: BrokerState,
  connection: Connection,
  told: Message,
  { head, subscriptionIdentifiers }: { head: number; subscriptionIdentifiers: readonly number[] | undefined },
): boolean {
  const { maximumPacketBytes, outgoingAliasMaximum: topicAlias } = connection
  if (maximumPacketBytes === Infinity || topicAlias === 0) return true
  const traits = { qos: headBits.qos(head), subscriptionIdentifiers, topicAlias }
  return bytesOf(state, connection, told, traits) <= maximumPacketBytes
}

/** Of the whole packet, its topic written out. `topicAlias` 0: there is none. */
function bytesOf(
  state: BrokerState,
  connection: Connection,
  told: Message,
  { qos, topicAlias, subscriptionIdentifiers }: SizeTraits & { readonly topicAlias: number },
): number {
  return measurePublish(
    {
      topic: told.topic,
      topicIsOmitted: false,
      topicAlias,
      qos,
      retain: false,
      dup: false,
      packetId: 1,
      properties: told.properties,
      messageExpiryIntervalSeconds: remainingSeconds(told, state.nowMs),
      subscriptionIdentifiers,
      chunk: told.chunk,
      payloadStart: told.payloadStart,
      payloadEnd: told.frameEnd,
    },
    connection.version,
  )
}

const kindOfAck = {
  puback: sendKinds.puback,
  pubrec: sendKinds.pubrec,
  pubrel: sendKinds.pubrel,
  pubcomp: sendKinds.pubcomp,
} as const

/**
 * Acknowledgements leave a connection in the order in which its packets came: none passes one that waits. True if it
 * waits itself.
 */
export function sendAck(state: BrokerState, connection: Connection, ack: Ack): boolean {
  if (connection.deferredAcks !== undefined) return holdBehind(state, connection.deferredAcks, ack)
  const list = listForAck(state, connection, ack.waits)
  const reason = ack.reason ?? reasonCodes.success
  if (reason === reasonCodes.success || connection.version !== 5) {
    list.acknowledge(connection, kindOfAck[ack.type], ack.packetId)
  } else {
    list.packet(connection, new AckPacket(ack.type, ack.packetId, reason, undefined))
  }
  return list !== state.sends
}

function holdBehind(state: BrokerState, held: DeferredAck[], ack: Ack): boolean {
  held.push({ ack: ack, barrier: undefined, batch: ack.waits ? state.openBatch.number : 0 })
  return true
}

function listForAck(state: BrokerState, connection: Connection, waits: boolean): SendList {
  const committed = state.committedBatch
  if (!waits && connection.acksDeferredUntilBatch <= committed && connection.sendsDeferredUntilBatch <= committed)
    return state.sends
  connection.acksDeferredUntilBatch = state.openBatch.number
  return state.openBatch.sendsAfterCommit
}

/** SUBACK, UNSUBACK, CONNACK: `waits` where it stands for stored state; then nothing may pass it. */
export function sendPacket(state: BrokerState, connection: Connection, packet: ControlPacket, waits: boolean): void {
  if (connection.deferredAcks !== undefined) {
    connection.deferredAcks.push({ ack: packet, barrier: undefined, batch: waits ? state.openBatch.number : 0 })
    return
  }
  const acksWait = connection.acksDeferredUntilBatch > state.committedBatch
  const list = waits || acksWait ? sendAllAfterCommit(state, connection) : sendsOf(state, connection)
  list.packet(connection, packet)
}
