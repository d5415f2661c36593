// A publication whose client went away while plugins decided about it. It is handled as if the client were connected, without an
// acknowledgement: the client sends a message of QoS 1 or 2 again, and that of QoS 2 is then a duplicate.

import { needsStorage } from '../delivery/check-receivers.ts'
import { createMessageFromPublish, recordPublisherRights, removeFrame, type Message } from '../messages/message.ts'
import { isReservedInside } from '../messages/reserved-roots.ts'
import { addMountpoint } from '../namespaces/mountpoint.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Parts } from '../state/parts.ts'
import type { Session } from '../state/sessions/session.ts'
import type { HookEntry, HookQueue } from '../state/hooks/hook-queue.ts'
import { acknowledgeAbsent, recordIncoming } from './acknowledge-publish.ts'
import { changeMessage } from './change-message.ts'
import { delayMessage } from './delay-message.ts'
import { isReservedTopic } from './reserved-topics.ts'
import { routeIncoming, routeMessage } from './route-message.ts'

/** The connection of the queue closes: its messages take effect when their responses arrive. */
export function detachHooks(state: BrokerState, queue: HookQueue): void {
  queue.connection = undefined
  state.hooks.detached.set(queue.session, queue)
  continueDetached(state, queue)
}

/** Handles the messages at the head of the queue that have a response. */
export function continueDetached(state: BrokerState, queue: HookQueue): void {
  const { entries } = queue
  while (entries.length > 0 && entries[0].result !== undefined) {
    const [entry] = entries.splice(0, 1)
    acceptDetached(state, queue, entry)
  }
  if (entries.length === 0) state.hooks.detached.delete(queue.session)
}

export function acceptDetached(state: BrokerState, { session }: HookQueue, entry: HookEntry): void {
  const { packet, result, isDenied } = entry
  const isDuplicate = packet.qos === 2 && session.incoming.packetIds?.has(packet.packetId) === true
  if (isDuplicate || isDenied || result === undefined) return
  const message = createDetachedMessage(state, session, entry)
  if (message === undefined) return
  const isStored = packet.qos > 0 && session.stored !== undefined
  if (result.action === 'drop' || result.action === 'deny') {
    state.counts.countDrop(undefined, message, 'plugin', result.plugin)
    return
  }
  const mustStore = message.retain || needsStorage(state, message) || (packet.qos === 2 && isStored)
  if (!state.storage.isHealthy && mustStore) {
    // It was not acknowledged, so its client sends it again.
    if (packet.qos === 0) state.counts.countDrop(undefined, message, 'storage-full')
    return
  }
  if (packet.qos === 2) session.incoming.ensurePacketIds().add(packet.packetId, state.nowMs)
  if (entry.delay !== undefined) delayMessage(state, message, entry.delay)
  else if (packet.qos < 2) routeMessage(state, message, session, 0)
  else (session.incoming.partial === undefined ? routeMessage : routeIncoming)(state, message, session, packet.packetId)
  if (packet.qos === 2 && isStored) recordIncoming(state, session, packet.packetId)
  if (packet.qos > 0) acknowledgeAbsent(state, session, packet.qos === 2 ? packet.packetId : 0)
}

/** Undefined: the message has no topic that a client may publish to. */
function createDetachedMessage(
  state: Parts<'namespaces' | 'nowMs' | 'sessions' | 'topics'>,
  session: Session,
  entry: HookEntry,
): Message | undefined {
  const { connection, packet, result, isDelayed } = entry
  const change = result?.action === 'change' ? result : undefined
  const named = change?.topic === undefined ? entry.target : state.topics.internName(change.topic)
  const { mountpoint } = connection
  const target = mountpoint === '' ? named : addMountpoint(state.topics, mountpoint, named)
  if (target === undefined || isReservedInside(named.name)) return undefined
  if (target.name.startsWith('$') && isReservedTopic(state, target.name, session.clientId)) return undefined
  const published = createMessageFromPublish(packet, target, {
    publisher: session.clientId,
    version: connection.version,
    nowMs: state.nowMs,
  })
  if (packet.retain || change?.retain === true || isDelayed)
    recordPublisherRights(published, session.identity, mountpoint)
  return change === undefined ? removeFrame(published) : changeMessage(published, target, change)
}
