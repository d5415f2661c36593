// SUBSCRIBE to `$exclusive/...` whose registry is on another shard. The core sends a request to that shard, and the packet waits.
//
//   handle ──wanted──► parked, reading paused ──responses──► handled again: granted, refused
//
// A filter that was granted but is not used is released: the client disconnected, or the subscription was refused for another
// reason.

import { splitExclusiveFilter, type SubscribePacket, type TopicFilter } from '../../protocol/index.ts'
import type { Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { releaseAtOwner, requestExclusive } from './exclusive-subscriptions.ts'
import { pauseReading, readPauseReasons } from '../outgoing/read-pause-reasons.ts'
import { addFilterMountpoint } from '../namespaces/mountpoint.ts'
import type { ExclusiveFilters, ExclusiveWait } from '../state/peers/exclusive-filters.ts'
import type { Open } from '../state/connection-state.ts'

const nothing: ReadonlySet<TopicFilter> = new Set()

/** A SUBSCRIBE, and the indexes of its filters that are denied. Denied filters are not requested. */
interface CheckedSubscribe {
  readonly packet: SubscribePacket
  readonly denied: ReadonlySet<number>
}

/** Returns the filters, without `$exclusive/`, that other sessions hold; undefined if the packet waits. */
export function findHeldFilters(
  state: Parts<'ids' | 'outputs' | 'peers' | 'settings' | 'waiting'>,
  connection: Connection,
  open: Open,
  checked: CheckedSubscribe,
): ReadonlySet<TopicFilter> | undefined {
  const { packet } = checked
  if (!state.settings.exclusiveSubscriptionAvailable || !packet.subscriptions.some(isExclusive)) return nothing
  const wait = findOrCreateWait(state.peers.exclusive, connection, open, packet)
  // The second pass may find further filters, if the permissions of the client have changed meanwhile.
  for (const filter of findPendingFilters(connection, open, checked, wait)) request(state, { connection, filter, wait })
  if (wait.missing.size + wait.given.size + wait.refused.size === 0) return nothing
  state.peers.exclusive.waits.set(connection, wait)
  if (wait.missing.size > 0) {
    open.parked ??= []
    open.parked.push(packet)
    state.waiting.forPeers.add(connection)
    pauseReading(state.outputs, connection, readPauseReasons.peers)
    return undefined
  }
  return wait.refused
}

function isExclusive({ filter }: SubscribePacket['subscriptions'][number]): boolean {
  return splitExclusiveFilter(filter) !== undefined
}

/** The packet was handled. Releases the filters that no subscription uses. */
export function endExclusiveWait(state: Parts<'outputs' | 'peers' | 'sessions'>, connection: Connection): void {
  const wait = state.peers.exclusive.waits.get(connection)
  if (wait === undefined) return
  state.peers.exclusive.waits.delete(connection)
  for (const requestId of wait.missing.keys()) state.peers.exclusive.requests.delete(requestId)
  const { clientId } = wait
  const session = state.sessions.get(clientId)
  // Requests without a response are released as well, because no packet waits for them any more.
  for (const filter of [...wait.given, ...wait.missing.values()]) {
    const isHeld = session?.subscriptions?.has(`$exclusive/${filter}` as TopicFilter) === true
    if (!isHeld && !isRequestedByAdmin(state.peers.exclusive, filter, clientId)) releaseAtOwner(state, filter, clientId)
  }
}

/**
 * A command of the API requested the same filter for the same client. For the registry this is one request. The command
 * releases the filter when it cannot use the response.
 */
function isRequestedByAdmin({ commands }: ExclusiveFilters, filter: TopicFilter, clientId: string): boolean {
  for (const command of commands.values())
    if (command.exclusive === filter && command.clientId === clientId) return true
  return false
}

function findOrCreateWait(
  { waits }: ExclusiveFilters,
  connection: Connection,
  { session }: Open,
  packet: SubscribePacket,
): ExclusiveWait {
  const known = waits.get(connection)
  if (known?.packet === packet) return known
  return { packet, clientId: session.clientId, missing: new Map(), given: new Set(), refused: new Set() }
}

/** Returns the exclusive filters, without `$exclusive/`, that were not requested yet. */
function findPendingFilters(
  connection: Connection,
  { session }: Open,
  { packet, denied }: CheckedSubscribe,
  { missing, given, refused }: ExclusiveWait,
): Set<TopicFilter> {
  const filters = new Set<TopicFilter>()
  for (const [place, request] of packet.subscriptions.entries()) {
    const mounted = denied.has(place) ? undefined : addFilterMountpoint(connection.mountpoint, request.filter)
    const filter = mounted === undefined ? undefined : splitExclusiveFilter(mounted)
    const isHeld = mounted !== undefined && session.subscriptions?.has(mounted) === true
    if (filter !== undefined && !isHeld) filters.add(filter)
  }
  for (const requested of [missing.values(), given, refused]) for (const filter of requested) filters.delete(filter)
  return filters
}

function request(
  state: Parts<'ids' | 'outputs' | 'peers'>,
  { connection, filter, wait }: { connection: Connection; filter: TopicFilter; wait: ExclusiveWait },
): void {
  const response = requestExclusive(state, filter, wait.clientId)
  if (typeof response === 'number') {
    wait.missing.set(response, filter)
    state.peers.exclusive.requests.set(response, connection)
  } else if (response === 'given') wait.given.add(filter)
  else wait.refused.add(filter)
}
