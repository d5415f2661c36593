// Adds packets to the lists of sends: immediately, or after the commit of a batch. Only this file decides the order of packets.

import type { AckProperties, ControlPacket, QoS, SubackPacket, TopicTable } from '../../protocol/index.ts'
import { AckPacket, measurePacket, measurePublish, reasonCodes } from '../../protocol/index.ts'
import type { Batches } from '../model/batches.ts'
import type { Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import type { Ack, DeferredAck } from '../model/deferred-ack.ts'
import { computeRemainingSeconds, copyWithTopic, type Message } from '../messages/message.ts'
import { removeMountpoint } from '../namespaces/mountpoint.ts'
import { headBits, sendKinds, type PublishExtra, type SendList } from '../model/send-list.ts'
import { findOrAssignAlias } from './topic-aliases.ts'

/** Returns the list for packets that confirm nothing: that of this turn, or that of the batch for which the connection waits. */
export function selectSendList(state: Parts<'batches' | 'outputs'>, connection: Connection): SendList {
  return connection.sendsDeferredUntilBatch > state.batches.committed
    ? sendAllAfterCommit(state.batches, connection)
    : state.outputs.sends
}

/** Returns the list of the open batch. From now on, all packets of this connection wait for this batch. */
export function sendAllAfterCommit(batches: Batches, connection: Connection): SendList {
  connection.sendsDeferredUntilBatch = batches.openBatch.number
  return batches.openBatch.sendsAfterCommit
}

export function sendPublish(list: SendList, connection: Connection, message: Message, head: number): void {
  connection.unsentBytes += message.frameEnd - message.frameStart
  list.publish(connection, message, head, undefined)
}

/** Does what `sendPublish` does, for connections with subscription identifiers, topic aliases or a mount point. */
export function sendPublishWithExtra(
  state: Parts<'memory' | 'nowMs' | 'outputs' | 'settings' | 'topics'>,
  connection: Connection,
  message: Message,
  options: { list: SendList; head: number; subscriptionIdentifiers: readonly number[] | undefined },
): void {
  connection.unsentBytes += message.frameEnd - message.frameStart
  const sent = removeMessageMountpoint(state.topics, connection, message)
  // An alias is valid after the packet that introduces it. Other packets may overtake packets that wait for the disk, so
  // these have no alias.
  const canHaveAlias = options.list === state.outputs.sends && fitsWithAlias(state.nowMs, connection, sent, options)
  const alias = canHaveAlias ? findOrAssignAlias(state, connection, sent) : undefined
  const extra: PublishExtra = {
    subscriptionIdentifiers: options.subscriptionIdentifiers,
    topicAlias: alias === undefined ? 0 : alias.topicAlias,
    topicIsOmitted: alias !== undefined && alias.isKnown,
  }
  options.list.publish(connection, sent, options.head, extra)
}

/** Returns the message with the topic as this client knows it. The bytes are shared. */
function removeMessageMountpoint(topics: TopicTable, connection: Connection, message: Message): Message {
  const topic = removeMountpoint(topics, connection.mountpoint, message.topic)
  return topic === message.topic ? message : copyWithTopic(message, topic)
}

/** Properties that change the size of a PUBLISH for one client. */
interface SizeTraits {
  readonly qos: QoS
  readonly subscriptionIdentifiers: readonly number[] | undefined
}

/** [MQTT5-3.1.2-24] Returns whether the message is within the client's Maximum Packet Size. */
export function fitsMaximumPacket(
  state: Parts<'nowMs' | 'topics'>,
  connection: Connection,
  message: Message,
  traits: SizeTraits,
): boolean {
  const { maximumPacketBytes } = connection
  if (maximumPacketBytes === Infinity) return true
  const sent = removeMessageMountpoint(state.topics, connection, message)
  return measurePacketSize(state.nowMs, connection, sent, { ...traits, topicAlias: 0 }) <= maximumPacketBytes
}

/** Does the same for QoS 0, with plain arguments, because it is on the path of every message. */
export function fitsAtMostOnce(
  state: Parts<'nowMs' | 'topics'>,
  connection: Connection,
  message: Message,
  subscriptionIdentifiers: readonly number[] | undefined,
): boolean {
  if (connection.maximumPacketBytes === Infinity) return true
  return fitsMaximumPacket(state, connection, message, { qos: 0, subscriptionIdentifiers })
}

/** Returns whether the message is within the limit with a topic alias. Otherwise it is sent without an alias. */
function fitsWithAlias(
  nowMs: number,
  connection: Connection,
  sent: Message,
  { head, subscriptionIdentifiers }: { head: number; subscriptionIdentifiers: readonly number[] | undefined },
): boolean {
  const { maximumPacketBytes, outgoingAliasMaximum: topicAlias } = connection
  if (maximumPacketBytes === Infinity || topicAlias === 0) return true
  const traits = { qos: headBits.qos(head), subscriptionIdentifiers, topicAlias }
  return measurePacketSize(nowMs, connection, sent, traits) <= maximumPacketBytes
}

/** Returns the size of the packet with its complete topic. `topicAlias` 0: none. */
function measurePacketSize(
  nowMs: number,
  connection: Connection,
  sent: Message,
  { qos, topicAlias, subscriptionIdentifiers }: SizeTraits & { readonly topicAlias: number },
): number {
  return measurePublish(
    {
      topic: sent.topic,
      topicIsOmitted: false,
      topicAlias,
      qos,
      retain: false,
      dup: false,
      packetId: 1,
      properties: sent.properties,
      messageExpiryIntervalSeconds: computeRemainingSeconds(sent, nowMs),
      subscriptionIdentifiers,
      chunk: sent.chunk,
      payloadStart: sent.payloadStart,
      payloadEnd: sent.frameEnd,
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
 * Sends an acknowledgement, in the order of the received packets: it does not overtake an acknowledgement that waits. Returns true if it
 * waits.
 */
export function sendAck(state: Parts<'batches' | 'outputs'>, connection: Connection, ack: Ack): boolean {
  if (connection.deferredAcks !== undefined) return deferBehind(state.batches, connection.deferredAcks, ack)
  const list = listForAck(state, connection, ack.waits)
  const reason = ack.reason ?? reasonCodes.success
  if (reason === reasonCodes.success || connection.version !== 5) {
    list.acknowledge(connection, kindOfAck[ack.type], ack.packetId)
  } else {
    const createAck = (properties: AckProperties | undefined) =>
      new AckPacket(ack.type, ack.packetId, reason, properties)
    list.addPacket(connection, createWithReasonString(connection, ack.text, createAck))
  }
  return list !== state.outputs.sends
}

/**
 * Returns the packet with a reason string if the client requested problem information [MQTT5-3.1.2-29], and if the packet stays within
 * its Maximum Packet Size [MQTT5-3.4.2-2] [MQTT5-3.9.2-1].
 */
export function createWithReasonString<P extends AckPacket | SubackPacket>(
  connection: Connection,
  text: string | undefined,
  make: (properties: { reasonString: string } | undefined) => P,
): P {
  if (text === undefined || connection.version !== 5 || !connection.wantsProblemInformation) return make(undefined)
  const extended = make({ reasonString: text })
  return measurePacket(extended, 5) <= connection.maximumPacketBytes ? extended : make(undefined)
}

function deferBehind(batches: Batches, deferred: DeferredAck[], ack: Ack): boolean {
  deferred.push({ ack, barrier: undefined, batch: ack.waits ? batches.openBatch.number : 0 })
  return true
}

function listForAck(state: Parts<'batches' | 'outputs'>, connection: Connection, waits: boolean): SendList {
  const committed = state.batches.committed
  if (!waits && connection.acksDeferredUntilBatch <= committed && connection.sendsDeferredUntilBatch <= committed)
    return state.outputs.sends
  connection.acksDeferredUntilBatch = state.batches.openBatch.number
  return state.batches.openBatch.sendsAfterCommit
}

export function sendPingresp(state: Parts<'batches' | 'outputs'>, connection: Connection): void {
  selectSendList(state, connection).addPacket(connection, { type: 'pingresp' })
}

/** Sends SUBACK, UNSUBACK or CONNACK. `waits`: the packet confirms stored state, and no other packet may overtake it. */
export function sendPacket(
  state: Parts<'batches' | 'outputs'>,
  connection: Connection,
  packet: ControlPacket,
  waits: boolean,
): void {
  if (connection.deferredAcks !== undefined) {
    connection.deferredAcks.push({ ack: packet, barrier: undefined, batch: waits ? state.batches.openBatch.number : 0 })
    return
  }
  const acksWait = connection.acksDeferredUntilBatch > state.batches.committed
  const list = waits || acksWait ? sendAllAfterCommit(state.batches, connection) : selectSendList(state, connection)
  list.addPacket(connection, packet)
}
