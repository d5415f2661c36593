// A publication that began on another shard: to the sessions here, and no further. What it brings is on its way to the
// disk when this is done; its sender is told when it is there.

import { type ReasonCode, reasonCodes, splitSharedFilter, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../broker-state.ts'
import { passOn } from '../delivery/pass-on.ts'
import { deliverToGroup, meetsFullSession, publishFromPeer } from '../delivery/publish.ts'
import { scheduleForgetting } from '../time/forget-received.ts'
import { keepForTopic } from '../delivery/spread.ts'
import { put, remove } from '../delivery/stored-queue.ts'
import type { Message } from '../message.ts'
import type { Neighbours } from '../neighbours/neighbours.ts'
import type { LinkState } from '../neighbours/peer.ts'
import type { PeerNumber, PeerPublish, PeerRelease } from '../peer-messages.ts'
import { Vow } from '../vow.ts'

export function handleForwarded(
  state: BrokerState,
  neighbours: Neighbours,
  { from, link }: { from: PeerNumber; link: LinkState },
  send: PeerPublish,
): void {
  const number = ++link.received
  const { isAwaited, exactlyOnce } = send
  if (exactlyOnce !== undefined && neighbours.received.has(exactlyOnce.publisher, exactlyOnce.packetId)) {
    // It was here before. What it brought may still be on its way to the disk.
    link.confirmations.note(number, { batch: lastBegun(state), isAwaited })
    return
  }
  if (send.isRepeat === true) send.message.isRepeat = true
  const changesBefore = state.gathering.changes.length
  if (send.isForSubscribers && meetsFullSession(state, send.message))
    link.confirmations.refuse(number, reasonCodes.quotaExceeded)
  if (send.isForSubscribers) publishFromPeer(state, send.message)
  // Who has published is answered all the same; a session that has passed it on keeps what nobody may have.
  const isPassedOn = isAwaited && send.tried !== undefined
  const onRefused = isPassedOn ? (why: ReasonCode): void => link.confirmations.refuse(number, why) : undefined
  let vow: Vow | undefined
  for (const filter of send.groups ?? []) vow = deal(state, neighbours, send, { filter, vow, onRefused })
  if (send.isToBeRetained) keepForTopic(state, send.message, { shard: from, link, number })
  const isStored = state.gathering.changes.length > changesBefore
  if (exactlyOnce !== undefined) remember(state, neighbours, exactlyOnce, isStored)
  link.confirmations.note(number, { batch: isStored ? state.gathering.number : 0, isAwaited, vow })
  vow?.mark()
}

/** What nobody there waits for, and is for plain subscribers alone. One of them may be stored all the same, since a moment. */
export function handlePlain(state: BrokerState, link: LinkState, message: Message): void {
  const number = ++link.received
  if (message.qos === 0) {
    publishFromPeer(state, message)
    return link.confirmations.noteUnawaited(number, 0)
  }
  const changesBefore = state.gathering.changes.length
  publishFromPeer(state, message)
  const isStored = state.gathering.changes.length > changesBefore
  link.confirmations.noteUnawaited(number, isStored ? state.gathering.number : 0)
}

interface Dealing {
  readonly filter: TopicFilter
  readonly vow: Vow | undefined
  /** Nobody may have it, here or where it went. */
  readonly onRefused: ((why: ReasonCode) => void) | undefined
}

/** To a member here, or on; what that has to wait for is added to the vow. */
function deal(
  state: BrokerState,
  neighbours: Neighbours,
  { message, isAwaited, tried = [] }: PeerPublish,
  { filter, vow, onRefused }: Dealing,
): Vow | undefined {
  const group = splitSharedFilter(filter)
  if (group === undefined) return vow
  const here = state.routes.group(group.group, group.filter)
  if (message.bodyId !== 0 && state.bodies.get(message.bodyId) === 0) message.bodyId = 0
  if (here !== undefined && deliverToGroup(state, here, message, undefined)) return vow
  const passed = passOn(state, neighbours, {
    message,
    group: { name: group.group, filter: group.filter },
    tried,
    mayBeStored: message.qos > 0,
    isAwaited,
  })
  if (passed === false) {
    onRefused?.(reasonCodes.noMatchingSubscribers)
    // Who keeps it has not lost it.
    if (onRefused === undefined) state.countDrop(undefined, message, 'session-ended')
    return vow
  }
  const { kept } = passed
  kept?.whenKept(() => {
    if (kept.refusal !== undefined) onRefused?.(kept.refusal)
  })
  if (kept === undefined || kept.isKept) return vow
  const both = vow ?? new Vow()
  both.await()
  kept.whenKept(() => both.mark())
  return both
}

/** What was stored so far is safe with this batch; 0: it is. */
function lastBegun(state: BrokerState): number {
  const last = state.batches.lastBegun
  return last > state.committedBatch ? last : 0
}

/** With what it brought, or not at all: a crash leaves both or neither. */
function remember(
  state: BrokerState,
  neighbours: Neighbours,
  { publisher, packetId }: NonNullable<PeerPublish['exactlyOnce']>,
  isStored: boolean,
): void {
  neighbours.received.add(publisher, packetId, { isStored, nowMs: state.nowMs })
  if (isStored) put(state, { kind: 'forwarded', shard: neighbours.place.own, publisher, packetId })
  scheduleForgetting(state)
}

/** The id is its client's again: the next message under it is another. */
export function handleReleased(
  state: BrokerState,
  neighbours: Neighbours,
  link: LinkState,
  { publisher, packetId }: PeerRelease,
): void {
  const number = ++link.received
  const released = neighbours.received.release(publisher, packetId)
  if (released === 'on disk') remove(state, { kind: 'forwarded', shard: neighbours.place.own, publisher, packetId })
  link.confirmations.note(number, { batch: released === 'on disk' ? state.gathering.number : 0, isAwaited: true })
}
