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
  const dealt = session.forwarded?.get(packetId)?.dealt?.toRecords() ?? []
  putRecord(state, { kind: 'incoming', clientId: session.clientId, packetId, dealt })
}

/** The first answer to a message that has just been given out. */
export function acknowledgePublish(state: BrokerState, connection: Connection, session: Session, ack: Ack): void {
  const forwarded = state.neighbours?.takeVow()
  const mayBeCounted = ack.type === 'puback' || !connection.takesRefusals
  if (forwarded === undefined) {
    const isHeld = sendAck(state, connection, ack)
    if (isHeld && mayBeCounted) countUnacknowledged(state, connection)
    return
  }
  const vow =
    ack.type === 'pubrec'
      ? barrierOfExchange(state, connection, { session, packetId: ack.packetId, forwarded })
      : forwarded
  ackWhenCommitted(state, connection, { what: ack, vow, waits: ack.waits })
  if (mayBeCounted) countUnacknowledged(state, connection)
  forwarded.mark()
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
  const vow = new CommitBarrier()
  session.forwarded ??= new ForwardedPacketIds()
  const known = session.forwarded.of(packetId)
  known.vow = vow
  known.spread = forwarded
  forwarded.whenKept(() => {
    const refusal = connection.takesRefusals ? forwarded.refusal : undefined
    const waiting = refusal === undefined ? undefined : connectionToAck(session, vow)
    if (refusal === undefined || waiting === undefined) {
      session.forwarded?.confirm(packetId, refusal)
      return vow.mark()
    }
    if (waiting.unansweredPublishes > 0) waiting.unansweredPublishes--
    markRefused(vow, refusal, removeIncoming(state, session, packetId))
  })
  return vow
}

/** The connection that an answer is held for: the client may have come again on another one. */
function connectionToAck({ connection }: Session, vow: CommitBarrier): Connection | undefined {
  const isHeld = connection?.heldAnswers?.some((held) => held.vow === vow) === true
  return isHeld && connection.takesRefusals ? connection : undefined
}

function markRefused(vow: CommitBarrier, refusal: ReasonCode, released: CommitBarrier | undefined): void {
  if (released === undefined) return vow.mark(refusal)
  released.whenKept(() => vow.mark(refusal))
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
  const known = session.forwarded?.get(packetId)
  if (known?.vow !== undefined && !known.vow.isKept) {
    ackWhenCommitted(state, connection, { what: ack, vow: known.vow, waits: false })
  } else if (known?.refusal !== undefined && connection.takesRefusals) {
    const vow = new CommitBarrier()
    ackWhenCommitted(state, connection, { what: ack, vow, waits: true })
    markRefused(vow, known.refusal, removeIncoming(state, session, packetId))
  } else if (state.neighbours !== undefined && known?.isOfEarlierLife === true && !isRefused) {
    const plan = state.routes.planFor(message.topic)
    const isNewlyDealt = known.dealt === undefined
    forwardToPeers(state, state.neighbours, { message, plan }, { publisher: session, packetId, isAgain: true })
    if (isNewlyDealt) recordIncoming(state, session, packetId)
    acknowledgePublish(state, connection, session, ack)
  } else {
    sendAck(state, connection, { ...ack, reason: reasonCodes.success })
  }
}
