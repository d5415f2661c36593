// SUBSCRIBE to `$exclusive/...` where the book of that filter is with another shard: it is asked, and the packet waits.
//
//   handle ──wanted──► parked, reader held ──verdicts──► handled again: given, refused
//
// What was given and is not used (the client has gone, the subscription was refused for another reason) is given back.

import { splitExclusiveFilter, type SubscribePacket, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../broker-state.ts'
import type { Connection } from '../connection.ts'
import { giveBackTo } from '../delivery/exclusive.ts'
import { holdReader, holdReasons } from '../delivery/reader-holds.ts'
import { mountedFilter } from '../mountpoint.ts'
import type { ExclusiveWait, Neighbours } from '../neighbours/neighbours.ts'
import { ownerOf } from '../peer-messages.ts'
import type { Open } from './connection-state.ts'

const nothing: ReadonlySet<TopicFilter> = new Set()

/** The filters, without `$exclusive/`, that others hold; undefined where the packet waits. */
export function heldElsewhere(
  state: BrokerState,
  connection: Connection,
  open: Open,
  packet: SubscribePacket,
): ReadonlySet<TopicFilter> | undefined {
  const { neighbours } = state
  if (neighbours === undefined || !state.settings.exclusiveSubscriptionAvailable) return nothing
  const known = neighbours.exclusiveWaits.get(connection)
  const wait = known?.packet === packet ? known : ask(state, neighbours, { connection, open, packet })
  if (wait === undefined) return nothing
  if (wait.missing.size > 0) {
    open.parked.push(packet)
    neighbours.waitingForPeers.add(connection)
    holdReader(state, connection, holdReasons.peers)
    return undefined
  }
  return wait.refused
}

/** The subscriptions of the packet have been made, or not. */
export function endExclusiveWait(state: BrokerState, connection: Connection): void {
  const { neighbours } = state
  const wait = neighbours?.exclusiveWaits.get(connection)
  if (neighbours === undefined || wait === undefined) return
  neighbours.exclusiveWaits.delete(connection)
  for (const question of wait.missing.keys()) neighbours.exclusiveAsked.delete(question)
  const session = state.sessions.get(wait.clientId)
  for (const filter of wait.given) {
    const isHeld = session?.subscriptions?.has(`$exclusive/${filter}` as TopicFilter) === true
    if (!isHeld) giveBackTo(state, neighbours, filter, wait.clientId)
  }
  // What is on its way is given back when it comes: nobody waits for it any more.
  for (const filter of wait.missing.values()) giveBackTo(state, neighbours, filter, wait.clientId)
}

function ask(
  state: BrokerState,
  neighbours: Neighbours,
  { connection, open, packet }: { connection: Connection; open: Open; packet: SubscribePacket },
): ExclusiveWait | undefined {
  const { clientId } = open.session
  const wait: ExclusiveWait = { packet, clientId, missing: new Map(), given: new Set(), refused: new Set() }
  for (const request of packet.subscriptions) {
    const mounted = mountedFilter(connection.mountpoint, request.filter)
    const filter = mounted === undefined ? undefined : splitExclusiveFilter(mounted)
    const isHeld = mounted !== undefined && open.session.subscriptions?.has(mounted) === true
    if (filter === undefined || isHeld) continue
    const owner = ownerOf(filter, neighbours.place.count)
    if (owner === neighbours.place.own) {
      if (neighbours.exclusive.take(filter, owner, clientId)) wait.given.add(filter)
      else wait.refused.add(filter)
      continue
    }
    // Whoever keeps the book is away: nobody can say that it is free.
    if (neighbours.peer(owner).link === undefined) {
      wait.refused.add(filter)
      continue
    }
    const question = state.nextSerial()
    wait.missing.set(question, filter)
    neighbours.exclusiveAsked.set(question, connection)
    state.peerSends.push({ to: owner, message: { kind: 'exclusive-wanted', question, filter, clientId } })
  }
  if (wait.missing.size + wait.given.size + wait.refused.size === 0) return undefined
  neighbours.exclusiveWaits.set(connection, wait)
  return wait
}
