// SUBSCRIBE to `$exclusive/...` where the book of that filter is with another shard: it is asked, and the packet waits.
//
//   handle ──wanted──► parked, reader held ──verdicts──► handled again: given, refused
//
// What was given and is not used (the client has gone, the subscription was refused for another reason) is given back.

import { splitExclusiveFilter, type SubscribePacket, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import { releaseAtOwner } from '../peers/exclusive-subscriptions.ts'
import { pauseReading, readPauseReasons } from '../outgoing/read-pause-reasons.ts'
import { mountedFilter } from '../namespaces/mountpoint.ts'
import type { ExclusiveWait, PeerTable } from '../state/peers/peer-table.ts'
import { ownerOf } from '../model/peer-messages.ts'
import type { Open } from '../state/connection-state.ts'

const nothing: ReadonlySet<TopicFilter> = new Set()

/** A SUBSCRIBE, and the places of its filters that the client may not have: those are kept from nobody. */
interface Asking {
  readonly packet: SubscribePacket
  readonly denied: ReadonlySet<number>
}

/** The filters, without `$exclusive/`, that others hold; undefined where the packet waits. */
export function findHeldFilters(
  state: BrokerState,
  connection: Connection,
  open: Open,
  asking: Asking,
): ReadonlySet<TopicFilter> | undefined {
  const { peerTable } = state
  if (peerTable === undefined || !state.settings.exclusiveSubscriptionAvailable) return nothing
  const { packet } = asking
  const wait = waitOf(peerTable, connection, open, packet)
  // More of them than the last time, where the client may by now have what it might not have then.
  for (const filter of pendingExclusiveFilters(connection, open, asking, wait))
    requestExclusive(state, peerTable, { connection, filter, wait })
  if (wait.missing.size + wait.given.size + wait.refused.size === 0) return nothing
  peerTable.exclusiveWaits.set(connection, wait)
  if (wait.missing.size > 0) {
    open.parked.push(packet)
    peerTable.waitingForPeers.add(connection)
    pauseReading(state, connection, readPauseReasons.peers)
    return undefined
  }
  return wait.refused
}

/** The subscriptions of the packet have been made, or not. */
export function endExclusiveWait(state: BrokerState, connection: Connection): void {
  const { peerTable } = state
  const wait = peerTable?.exclusiveWaits.get(connection)
  if (peerTable === undefined || wait === undefined) return
  peerTable.exclusiveWaits.delete(connection)
  for (const question of wait.missing.keys()) peerTable.exclusiveRequests.delete(question)
  const { clientId } = wait
  const session = state.sessions.get(clientId)
  // What is on its way is given back as well: nobody waits for it any more.
  for (const filter of [...wait.given, ...wait.missing.values()]) {
    const isHeld = session?.subscriptions?.has(`$exclusive/${filter}` as TopicFilter) === true
    if (!isHeld && !isRequestedByAdmin(peerTable, filter, clientId)) releaseAtOwner(state, peerTable, filter, clientId)
  }
}

/** For the same client: to the book that is one question, and it is given back with the answer where it cannot be used. */
function isRequestedByAdmin({ exclusiveCommands }: PeerTable, filter: TopicFilter, clientId: string): boolean {
  for (const command of exclusiveCommands.values())
    if (command.exclusive === filter && command.clientId === clientId) return true
  return false
}

function waitOf(
  { exclusiveWaits }: PeerTable,
  connection: Connection,
  { session }: Open,
  packet: SubscribePacket,
): ExclusiveWait {
  const known = exclusiveWaits.get(connection)
  if (known?.packet === packet) return known
  return { packet, clientId: session.clientId, missing: new Map(), given: new Set(), refused: new Set() }
}

/** The exclusive filters, without `$exclusive/`, that the book has not been asked about. */
function pendingExclusiveFilters(
  connection: Connection,
  { session }: Open,
  { packet, denied }: Asking,
  { missing, given, refused }: ExclusiveWait,
): Set<TopicFilter> {
  const filters = new Set<TopicFilter>()
  for (const [place, request] of packet.subscriptions.entries()) {
    const mounted = denied.has(place) ? undefined : mountedFilter(connection.mountpoint, request.filter)
    const filter = mounted === undefined ? undefined : splitExclusiveFilter(mounted)
    const isHeld = mounted !== undefined && session.subscriptions?.has(mounted) === true
    if (filter !== undefined && !isHeld) filters.add(filter)
  }
  for (const asked of [missing.values(), given, refused]) for (const filter of asked) filters.delete(filter)
  return filters
}

function requestExclusive(
  state: BrokerState,
  peerTable: PeerTable,
  { connection, filter, wait }: { connection: Connection; filter: TopicFilter; wait: ExclusiveWait },
): void {
  const { clientId } = wait
  const owner = ownerOf(filter, peerTable.shard.count)
  if (owner === peerTable.shard.own) {
    if (peerTable.exclusive.acquire(filter, owner, clientId)) wait.given.add(filter)
    else wait.refused.add(filter)
    return
  }
  // Whoever keeps the book is away: nobody can say that it is free.
  if (peerTable.peer(owner).link === undefined) {
    wait.refused.add(filter)
    return
  }
  const question = state.nextSerial()
  wait.missing.set(question, filter)
  peerTable.exclusiveRequests.set(question, connection)
  state.peerSends.push({ to: owner, message: { kind: 'exclusive-wanted', question, filter, clientId } })
}
