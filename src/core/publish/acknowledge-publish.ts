// PUBACK and PUBREC for what a client has published: at once, with the disk, or when every shard that must keep it has
// it on disk.

import { reasonCodes, type PacketId, type ReasonCode } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import type { Ack } from '../model/deferred-ack.ts'
import type { Message } from '../model/message.ts'
import type { Session } from '../state/sessions/session.ts'
import { ForwardedPacketIds } from '../state/sessions/forwarded-packet-ids.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { countUnacknowledged } from '../outgoing/handle-commit.ts'
import { releaseOnPeers } from '../peers/qos2-forwarding.ts'
import { forwardToPeers } from './forward-to-peers.ts'
import { ackWhenCommitted } from '../outgoing/deferred-acks.ts'
import { sendAck } from '../outgoing/send-to-client.ts'
import { putRecord, deleteRecord } from '../queues/persistent-queue.ts'

/** With the word of which shards it went to: the batch has what it brought here as well. */
export function recordIncoming(state: BrokerState, session: Session, packetId: PacketId): void {
  const dealt = session.forwardedPacketIds?.get(packetId)?.dealt?.toRecords() ?? []
  putRecord(state, { kind: 'incoming', clientId: session.clientId, packetId, dealt })
}

/** The first answer to a message that has just been given out. */
export function acknowledgePublish(state: BrokerState, connection: Connection, session: Session, ack: Ack): void {
  const forwarded = state.peerTable?.takeBarrier()
  const mayBeCounted = ack.type === 'puback' || !connection.canRefuseMessages
  if (forwarded === undefined) {
    const isHeld = sendAck(state, connection, ack)
    if (isHeld && mayBeCounted) countUnacknowledged(state, connection)
    return
  }
  const barrier =
    ack.type === 'pubrec'
      ? barrierOfExchange(state, connection, { session, packetId: ack.packetId, forwarded })
      : forwarded
  ackWhenCommitted(state, connection, { what: ack, barrier, waits: ack.waits })
  if (mayBeCounted) countUnacknowledged(state, connection)
  forwarded.arrive()
}

/**
 * What the PUBREC of a QoS 2 message waits for. Where a shard has refused the message the exchange ends with it, and the
 * client may use the packet id at once: the others must have forgotten it before. A client that is gone has not been told, and
 * what it sends again is no new message [MQTT5-4.3.3-10]: it is answered with the refusal then.
 */
function barrierOfExchange(
  state: BrokerState,
  connection: Connection,
  { session, packetId, forwarded }: { session: Session; packetId: PacketId; forwarded: CommitBarrier },
): CommitBarrier {
  const barrier = new CommitBarrier()
  session.forwardedPacketIds ??= new ForwardedPacketIds()
  const known = session.forwardedPacketIds.of(packetId)
  known.barrier = barrier
  known.spread = forwarded
  forwarded.whenComplete(() => {
    const refusal = connection.canRefuseMessages ? forwarded.refusal : undefined
    const waiting = refusal === undefined ? undefined : connectionToAck(session, barrier)
    if (refusal === undefined || waiting === undefined) {
      session.forwardedPacketIds?.confirm(packetId, refusal)
      return barrier.arrive()
    }
    if (waiting.unacknowledgedPublishes > 0) waiting.unacknowledgedPublishes--
    markRefused(barrier, refusal, removeIncoming(state, session, packetId))
  })
  return barrier
}

/** The connection that an answer is held for: the client may have come again on another one. */
function connectionToAck({ connection }: Session, barrier: CommitBarrier): Connection | undefined {
  const isHeld = connection?.deferredAcks?.some((held) => held.barrier === barrier) === true
  return isHeld && connection.canRefuseMessages ? connection : undefined
}

function markRefused(barrier: CommitBarrier, refusal: ReasonCode, released: CommitBarrier | undefined): void {
  if (released === undefined) return barrier.arrive(refusal)
  released.whenComplete(() => barrier.arrive(refusal))
}

function removeIncoming(state: BrokerState, session: Session, packetId: PacketId): CommitBarrier | undefined {
  const isOpen = session.incoming?.delete(packetId) === true
  if (isOpen && session.stored !== undefined)
    deleteRecord(state, { kind: 'incoming', clientId: session.clientId, packetId })
  return releaseOnPeers(state, session, packetId)
}

/**
 * [MQTT-4.3.3-2] [MQTT5-4.3.3-10] The same QoS 2 message again: only the answer is repeated. If it is of an earlier life
 * of this shard the others are asked again as well, which may never have heard of it: unless its client may not publish
 * it, as then nobody was to hear it, or what it is now is not what it was.
 */
export function acknowledgeDuplicate(
  state: BrokerState,
  connection: Connection,
  session: Session,
  { message, packetId, isRefused }: { message: Message; packetId: PacketId; isRefused: boolean },
): void {
  const ack: Ack = { type: 'pubrec', packetId, waits: session.stored !== undefined }
  const known = session.forwardedPacketIds?.get(packetId)
  if (known?.barrier !== undefined && !known.barrier.isComplete) {
    ackWhenCommitted(state, connection, { what: ack, barrier: known.barrier, waits: false })
  } else if (known?.refusal !== undefined && connection.canRefuseMessages) {
    const barrier = new CommitBarrier()
    ackWhenCommitted(state, connection, { what: ack, barrier, waits: true })
    markRefused(barrier, known.refusal, removeIncoming(state, session, packetId))
  } else if (state.peerTable !== undefined && known?.isOfEarlierLife === true && !isRefused) {
    const plan = state.router.planFor(message.topic)
    const isNewlyDealt = known.dealt === undefined
    forwardToPeers(state, state.peerTable, { message, plan }, { publisher: session, packetId, isAgain: true })
    if (isNewlyDealt) recordIncoming(state, session, packetId)
    acknowledgePublish(state, connection, session, ack)
  } else {
    sendAck(state, connection, { ...ack, reason: reasonCodes.success })
  }
}
