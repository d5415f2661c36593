// PUBACK, PUBREC and PUBCOMP for messages that the broker sent; PUBREL for messages that it received.

import { reasonCodes, type AckPacket, type PacketId } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Batches } from '../model/batches.ts'
import type { AckParts, DrainParts, ExchangeParts, Parts, QueueParts } from '../state/parts.ts'
import type { Refused } from '../model/packet-refusal.ts'
import type { Connection } from '../model/connection.ts'
import { releaseInFlightMemory, releaseDelivery } from '../outgoing/delivery-memory.ts'
import { drainQueue } from '../sessions/drain-queue.ts'
import { releaseOnPeers } from '../peers/qos2-forwarding.ts'
import { deferAck } from '../outgoing/deferred-acks.ts'
import { sendAck } from '../outgoing/send-to-client.ts'
import { deleteDelivery, putRecord, deleteRecord } from '../queues/persistent-queue.ts'
import { removeCompleted } from '../bridge/bridge-replay.ts'
import type { Ack } from '../model/deferred-ack.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import type { Session, SessionDelivery } from '../state/sessions/session.ts'
import { endConnection } from '../connect/close-connection.ts'

const firstError = 0x80

const unknownPacketId: Refused = {
  reason: reasonCodes.packetIdentifierNotFound,
  cause: 'unknown-packet-id',
  text: 'the packet identifier is not in use',
}

export function handleAck(state: BrokerState, connection: Connection, session: Session, packet: AckPacket): void {
  switch (packet.type) {
    case 'puback':
      return handlePuback(state, connection, session, packet)
    case 'pubrec':
      return handlePubrec(state, connection, session, packet)
    case 'pubrel':
      return handlePubrel(state, connection, session, packet)
    case 'pubcomp':
      return handlePubcomp(state, connection, session, packet)
    default:
      packet.type satisfies never
  }
}

function handlePuback(state: BrokerState, connection: Connection, session: Session, packet: AckPacket): void {
  const delivery = session.outgoing.inflight?.get(packet.packetId)
  // A duplicate acknowledgement, or an acknowledgement for an earlier session, or for a message that is being read from disk and
  // will be sent again.
  if (delivery === undefined || delivery.stage === 'waiting') return
  if (delivery.qos !== 1) return handleMismatch(state, connection, 'PUBACK for a QoS 2 message')
  session.internal?.ackLatency?.record(state.nowMs - delivery.sentAtMs, state.nowMs)
  if (state.rules.triggers.wanted['message-acked']) recordAcked(state, session, delivery, packet)
  finishExchange(state, session, delivery)
}

/** Records the delivery for rules. They run before the batch that deletes its record is taken. */
function recordAcked(
  state: Parts<'nowMs' | 'rules'>,
  session: Session,
  { message, qos, retain }: SessionDelivery,
  { properties }: AckPacket,
): void {
  if (message === undefined) return
  state.rules.triggers.addDelivery('message-acked', session, { message, qos, retain, properties, atMs: state.nowMs })
}

function handlePubrec(state: BrokerState, connection: Connection, session: Session, packet: AckPacket): void {
  const { packetId } = packet
  const delivery = session.outgoing.inflight?.get(packetId)
  if (delivery === undefined || delivery.stage === 'waiting') {
    if (packet.reasonCode >= firstError) return freeAbandoned(state.batches, session, packetId)
    // [MQTT5-4.3.3: PUBREL with 0x92] The packet identifier is unknown. The reason code lets the client free it.
    const isKnown = session.outgoing.inflight?.isAbandoned(packetId) === true
    const refused = isKnown ? undefined : unknownPacketId
    if (refused !== undefined) state.counts.countRefusal(session.clientId, 'PUBREC', '', refused)
    const { reason = reasonCodes.success, text } = refused ?? {}
    sendAck(state, connection, { type: 'pubrel', packetId, reason, text, waits: false })
    return
  }
  if (delivery.qos !== 2) return handleMismatch(state, connection, 'PUBREC for a QoS 1 message')
  if (delivery.stage === 'sent' && state.rules.triggers.wanted['message-acked'])
    recordAcked(state, session, delivery, packet)
  // [MQTT5-4.3.3-4] An error code ends the exchange: the client does not want the message.
  if (packet.reasonCode >= firstError) return finishExchange(state, session, delivery)
  if (delivery.stage === 'sent') markReceived(state, session, delivery)
  sendAck(state, connection, { type: 'pubrel', packetId, waits: session.stored !== undefined })
}

/** [MQTT-4.3.3-1] After PUBREC, store only the packet identifier, except for a bridge. */
function markReceived(state: QueueParts & Parts<'nowMs'>, session: Session, delivery: SessionDelivery): void {
  const keepsMessage = session.internal?.spool !== undefined
  if (!keepsMessage) releaseInFlightMemory(state.memory, session, delivery)
  if (delivery.sequence !== 0) {
    if (!keepsMessage) deleteDelivery(state, session, delivery)
    const { clientId } = session
    putRecord(state.batches, {
      kind: 'outgoing',
      clientId,
      packetId: delivery.packetId,
      sequence: delivery.sequence,
      stage: 'received',
    })
  }
  delivery.stage = 'received'
  if (!keepsMessage) delivery.message = undefined
  delivery.sentAtMs = state.nowMs
}

function handlePubcomp(state: BrokerState, connection: Connection, session: Session, packet: AckPacket): void {
  const delivery = session.outgoing.inflight?.get(packet.packetId)
  if (delivery === undefined) return freeAbandoned(state.batches, session, packet.packetId)
  if (delivery.stage !== 'received') return handleMismatch(state, connection, 'PUBCOMP before PUBREC')
  finishExchange(state, session, delivery)
}

/**
 * Frees a packet identifier of an earlier connection. Its message is not sent again, because the client may no longer receive it.
 */
function freeAbandoned(batches: Batches, session: Session, packetId: PacketId): void {
  if (session.outgoing.inflight?.releaseAbandoned(packetId) !== true || session.stored === undefined) return
  deleteRecord(batches, { kind: 'outgoing', clientId: session.clientId, packetId })
}

/** Ends a complete exchange, and sends the next message, for which the in-flight window has space now. */
function finishExchange(state: DrainParts, session: Session, delivery: SessionDelivery): void {
  const { outgoing } = session
  outgoing.inflight?.remove(delivery)
  releaseDelivery(state.memory, session, delivery)
  if (delivery.sequence !== 0) {
    if (delivery.stage !== 'received') deleteDelivery(state, session, delivery)
    else if (session.internal?.spool !== undefined) removeCompleted(state, session, delivery)
    if (delivery.qos === 2)
      deleteRecord(state.batches, { kind: 'outgoing', clientId: session.clientId, packetId: delivery.packetId })
  }
  // Checked here because usually no message waits, and each acknowledgement takes this path.
  if (
    outgoing.postponed !== undefined ||
    outgoing.pending !== undefined ||
    session.stored !== undefined ||
    session.retainedReplays !== undefined
  )
    drainQueue(state, session)
}

function handlePubrel(
  state: ExchangeParts & Parts<'counts'>,
  connection: Connection,
  session: Session,
  packet: AckPacket,
): void {
  const { packetId } = packet
  const wasPartial = session.incoming.partial?.get(packetId)?.isAccepted === false
  const isKnown = session.incoming.release(packetId)
  if (!isKnown) {
    if (wasPartial) deleteRecord(state.batches, { kind: 'incoming', clientId: session.clientId, packetId })
    const { reason, text } = unknownPacketId
    state.counts.countRefusal(session.clientId, 'PUBREL', '', unknownPacketId)
    const what = { type: 'pubcomp', packetId, reason, text, waits: wasPartial } as const
    const released = releaseOnPeers(state, session, packetId)
    if (released !== undefined) return acknowledgeAfter(state, connection, what, released)
    // [MQTT5-4.3.3: PUBCOMP with 0x92] 3.x clients get a PUBCOMP anyway; otherwise they would repeat PUBREL forever.
    sendAck(state, connection, what)
    return
  }
  if (connection.canRefuseMessages && connection.unacknowledgedPublishes > 0) connection.unacknowledgedPublishes--
  const isStored = session.stored !== undefined
  if (isStored) deleteRecord(state.batches, { kind: 'incoming', clientId: session.clientId, packetId })
  const released = releaseOnPeers(state, session, packetId)
  const what = { type: 'pubcomp', packetId, waits: isStored } as const
  if (released === undefined) sendAck(state, connection, what)
  else acknowledgeAfter(state, connection, what, released)
}

/** [MQTT5-4.3.3] PUBCOMP frees the packet identifier, so it waits until no shard needs it. */
function acknowledgeAfter(state: AckParts, connection: Connection, acknowledgement: Ack, barrier: CommitBarrier): void {
  const both = new CommitBarrier()
  both.expect()
  barrier.runWhenComplete(() => both.arrive())
  deferAck(state, connection, { ack: acknowledgement, barrier: both, waitsForBatch: acknowledgement.waits })
  both.arrive()
}

/**
 * Handles an acknowledgement of the wrong type for its packet identifier. After a repeated packet (mqtt.retry_interval)
 * a slow client acknowledges twice. The second acknowledgement may arrive when the identifier belongs to another
 * message, so it is then ignored.
 */
function handleMismatch(state: BrokerState, connection: Connection, text: string): void {
  if (!connection.hasRedelivered) endForProtocolError(state, connection, text)
}

function endForProtocolError(state: BrokerState, connection: Connection, text: string): void {
  endConnection(state, connection, { reason: reasonCodes.protocolError, text, publishWill: true })
}
