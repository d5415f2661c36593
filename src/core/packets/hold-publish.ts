// Publications that wait: for other shards, actions of rules, full queues or the store. The publisher is not read until the reason ends; then the
// packet passes all steps again.

import { endConnection } from '../connect/close-connection.ts'
import type { Connection } from '../model/connection.ts'
import type { Message } from '../messages/message.ts'
import { pauseReading, readPauseReasons, type ReadPauseReason } from '../outgoing/read-pause-reasons.ts'
import { canForwardToAllPeers, decidePublishPermit, type PublishPermit } from '../peers/peer-backpressure.ts'
import { countRefusal, peerIsFull, receiverIsFull, refusePublish } from '../publish/refuse-publish.ts'
import { isBlockedByActions } from '../publish/run-rules.ts'
import { HookQueue } from '../state/hooks/hook-queue.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Parts } from '../state/parts.ts'
import type { Session } from '../state/sessions/session.ts'
import type { PublishAttempt } from '../state/publish-attempt.ts'
import { decideQueuesPermit } from './wait-for-queues.ts'

/** The packet will be received, and counted, a second time. */
export function forgetReceived({ counts }: Parts<'counts'>, session: Session): void {
  counts.publishesReceived--
  session.counts.received--
}

function holdPublish(
  state: Parts<'counts' | 'outputs'>,
  { connection, open, packet, hooked }: PublishAttempt,
  { waiting, reason }: { readonly waiting: Set<Connection>; readonly reason: ReadPauseReason },
): true {
  waiting.add(connection)
  if (hooked !== undefined) {
    // It continues after the hooks, and before the packets that wait behind it.
    open.hooking ??= new HookQueue(open.session, connection)
    open.hooking.entries.unshift(hooked)
    pauseReading(state.outputs, connection, reason)
    return true
  }
  forgetReceived(state, open.session)
  open.parked ??= []
  open.parked.push(packet)
  pauseReading(state.outputs, connection, reason)
  return true
}

/** Returns true if a peer cannot take the message now: the packet waits or is refused. */
export function holdForPeers(
  state: Parts<'batches' | 'counts' | 'outputs' | 'peers' | 'router' | 'settings' | 'waiting'>,
  attempt: PublishAttempt,
): boolean {
  const { connection, packet, isDenied, isDelayed } = attempt
  if (isDenied || isDelayed) return false
  if (packet.qos < 2 && canForwardToAllPeers(state.settings, state.peers, packet.qos)) return false
  const permit = decidePermitOfPeers(state, attempt)
  if (permit === 'go') return false
  if (permit !== 'refuse' || !connection.canRefuseMessages)
    return holdPublish(state, attempt, { waiting: state.waiting.forPeers, reason: readPauseReasons.peers })
  refusePublish(state, connection, packet, peerIsFull)
  return true
}

function decidePermitOfPeers(
  state: Parts<'peers' | 'router' | 'settings'>,
  { open, packet, target, change }: PublishAttempt,
): PublishPermit {
  const forwarded = packet.qos === 2 ? open.session.incoming.forwarded?.get(packet.packetId) : undefined
  // A duplicate of this start of the shard only needs its acknowledgement. An identifier that is being released is not
  // reused before all peers have released it.
  if (forwarded !== undefined && !forwarded.isFromEarlierGeneration) return forwarded.isBeingReleased ? 'wait' : 'go'
  return decidePublishPermit(state, { topic: target, qos: packet.qos, retain: change?.retain ?? packet.retain })
}

/** Returns true if the message waits for the queue of an action (`overflow = block`). */
export function holdForActions(
  state: Parts<'counts' | 'outputs' | 'router' | 'sessions' | 'waiting'>,
  attempt: PublishAttempt,
): boolean {
  if (attempt.isDenied || attempt.isDelayed || !isBlockedByActions(state, attempt.target)) return false
  return holdPublish(state, attempt, { waiting: state.waiting.forActions, reason: readPauseReasons.actions })
}

/** Returns true if the message waits for the queue of a session, or its publisher is disconnected because of it. */
export function holdForQueues(state: BrokerState, attempt: PublishAttempt, message: Message): boolean {
  const { connection, open, packet, isDenied, isDelayed } = attempt
  const permit = decideQueuesPermit(state, connection, open.session, {
    packet,
    message,
    isRouted: !isDenied && !isDelayed,
  })
  if (permit === 'go') return false
  if (permit === 'wait')
    return holdPublish(state, attempt, { waiting: state.waiting.forQueues, reason: readPauseReasons.queues })
  countRefusal(state, connection, packet, receiverIsFull)
  const { reason, text } = receiverIsFull
  endConnection(state, connection, { reason, text, publishWill: true })
  return true
}

/** PUBACK and PUBREC of 3.1 and 3.1.1 have no reason code that asks for a retry, so reading pauses until the store works. */
export function holdForStorage(state: Parts<'counts' | 'outputs' | 'waiting'>, attempt: PublishAttempt): void {
  holdPublish(state, attempt, { waiting: state.waiting.forStorage, reason: readPauseReasons.storage })
}
