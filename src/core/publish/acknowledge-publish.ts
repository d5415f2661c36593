// Sends PUBACK and PUBREC for messages of clients: at once, after the commit, or after the commit on every shard that stores
// the message.

import { reasonCodes, type PacketId, type ReasonCode } from '../../protocol/index.ts'
import type { DrainParts, ExchangeParts, Parts, ReleaseParts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import type { Ack } from '../model/deferred-ack.ts'
import type { Message } from '../messages/message.ts'
import type { Session } from '../state/sessions/session.ts'
import { ForwardedPacketIds } from '../state/sessions/forwarded-packet-ids.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { countUnacknowledged } from '../outgoing/handle-commit.ts'
import { releaseOnPeers } from '../peers/qos2-forwarding.ts'
import { forwardToPeers } from '../delivery/forward-to-peers.ts'
import { markPartialRouted, routeRemaining } from './route-message.ts'
import { deferAck } from '../outgoing/deferred-acks.ts'
import { sendAck } from '../outgoing/send-to-client.ts'
import { putRecord, deleteRecord } from '../queues/persistent-queue.ts'

/**
 * Stores the packet identifier with the shards that the message went to, in the batch of the message's other changes.
 */
export function recordIncoming(
  { batches, peers }: Parts<'batches' | 'peers'>,
  session: Session,
  packetId: PacketId,
): void {
  const assignments = session.incoming.forwarded?.get(packetId)?.assignments?.toRecords(peers.shard.own) ?? []
  const remaining = session.incoming.partial?.get(packetId)?.receivers
  putRecord(batches, { kind: 'incoming', clientId: session.clientId, packetId, assignments, remaining })
}

/** Sends the first acknowledgement of a message that was just delivered. */
export function acknowledgePublish(state: ExchangeParts, connection: Connection, session: Session, ack: Ack): void {
  const forwarded = state.peers.takeBarrier()
  const isCounted = ack.type === 'puback' || !connection.canRefuseMessages
  if (forwarded === undefined) {
    const isHeld = sendAck(state, connection, ack)
    if (isHeld && isCounted) countUnacknowledged(state, connection)
    return
  }
  const barrier =
    ack.type === 'pubrec' ? createExchangeBarrier(state, { session, packetId: ack.packetId, forwarded }) : forwarded
  deferAck(state, connection, { ack, barrier, waitsForBatch: ack.waits })
  if (isCounted) countUnacknowledged(state, connection)
  forwarded.arrive()
}

/**
 * Ends the acceptance of a message whose client is not connected: nothing is sent. `packetId`: of a QoS 2 message, which its client sends
 * again; otherwise 0.
 */
export function acknowledgeAbsent(state: ExchangeParts, session: Session, packetId: PacketId): void {
  const forwarded = state.peers.takeBarrier()
  if (forwarded === undefined) return
  if (packetId !== 0) createExchangeBarrier(state, { session, packetId, forwarded })
  forwarded.arrive()
}

/**
 * Returns the barrier for which PUBREC of a QoS 2 message waits. If a shard refused the message, PUBREC ends the exchange, and the
 * client may reuse the packet identifier at once; so the other shards must have removed it before. A client that cannot get a reason
 * code is disconnected instead, and sends the message again with the same packet identifier. A disconnected
 * client has not received the refusal: its duplicate is not a new message [MQTT5-4.3.3-10], and is refused as well.
 */
function createExchangeBarrier(
  state: ReleaseParts,
  { session, packetId, forwarded }: { session: Session; packetId: PacketId; forwarded: CommitBarrier },
): CommitBarrier {
  const barrier = new CommitBarrier()
  session.incoming.forwarded ??= new ForwardedPacketIds()
  const known = session.incoming.forwarded.ensure(packetId)
  known.barrier = barrier
  known.forwardBarrier = forwarded
  forwarded.runWhenComplete(() => {
    const { refusal } = forwarded
    const waiting = refusal === undefined ? undefined : findConnectionToAck(session, barrier)
    if (refusal === undefined || waiting === undefined) {
      session.incoming.forwarded?.confirm(packetId, refusal)
      return barrier.arrive()
    }
    if (waiting.unacknowledgedPublishes > 0) waiting.unacknowledgedPublishes--
    markRefused(barrier, refusal, removeIncoming(state, session, packetId))
  })
  return barrier
}

/** Returns the connection to acknowledge on. The client may have reconnected. */
function findConnectionToAck({ connection }: Session, barrier: CommitBarrier): Connection | undefined {
  const isHeld = connection?.deferredAcks?.some((held) => held.barrier === barrier) === true
  return isHeld ? connection : undefined
}

function markRefused(barrier: CommitBarrier, refusal: ReasonCode, released: CommitBarrier | undefined): void {
  if (released === undefined) return barrier.arrive(refusal)
  released.runWhenComplete(() => barrier.arrive(refusal))
}

function removeIncoming(state: ReleaseParts, session: Session, packetId: PacketId): CommitBarrier | undefined {
  const isOpen = session.incoming.release(packetId)
  if (isOpen && session.stored !== undefined)
    deleteRecord(state.batches, { kind: 'incoming', clientId: session.clientId, packetId })
  return releaseOnPeers(state, session, packetId)
}

/**
 * [MQTT-4.3.3-2] [MQTT5-4.3.3-10] Repeats the acknowledgement for a duplicate of a QoS 2 message. A message that this shard accepted before
 * its restart is also sent to the peers again, because they may not have it. It is not sent if the client is not authorized, because
 * then the original may have been refused.
 */
export function acknowledgeDuplicate(
  state: DrainParts & Parts<'namespaces' | 'shard'>,
  connection: Connection,
  session: Session,
  { message, packetId, isRefused }: { message: Message; packetId: PacketId; isRefused: boolean },
): void {
  const ack: Ack = { type: 'pubrec', packetId, waits: session.stored !== undefined }
  const known = session.incoming.forwarded?.get(packetId)
  const partial = session.incoming.partial?.get(packetId)
  if (known?.barrier !== undefined && !known.barrier.isComplete) {
    deferAck(state, connection, { ack, barrier: known.barrier, waitsForBatch: false })
  } else if (known?.refusal !== undefined) {
    const barrier = new CommitBarrier()
    deferAck(state, connection, { ack, barrier, waitsForBatch: true })
    markRefused(barrier, known.refusal, removeIncoming(state, session, packetId))
  } else if (partial?.isRouted === false && !isRefused) {
    routeRemaining(state, message, { publisher: session, packetId, remaining: partial.receivers })
    markPartialRouted(state, session, packetId)
    recordIncoming(state, session, packetId)
    acknowledgePublish(state, connection, session, ack)
  } else if (known?.isFromEarlierGeneration === true && !isRefused) {
    const plan = state.router.resolvePlan(message.topic)
    const isNewlyAssigned = known.assignments === undefined
    forwardToPeers(state, { message, plan }, { publisher: session, packetId, isAgain: true })
    if (isNewlyAssigned) recordIncoming(state, session, packetId)
    acknowledgePublish(state, connection, session, ack)
  } else {
    sendAck(state, connection, { ...ack, reason: reasonCodes.success })
  }
}
