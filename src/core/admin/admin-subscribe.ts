// The API subscribes for a client: as a SUBSCRIBE of the client, but without a permission check. If the registry of an
// exclusive filter is on another shard, the core sends a request to that shard first.
//
//   command ──► subscribed ──────────────────────────────────────────────► result after the commit
//           ──► exclusive-request ~~> exclusive-response ──► subscribed, or released ──► result

import { reasonCodes, splitExclusiveFilter, type TopicFilter } from '../../protocol/index.ts'
import type { AckParts, Parts, SubscribeParts } from '../state/parts.ts'
import { releaseAtOwner, requestExclusive } from '../peers/exclusive-subscriptions.ts'
import { addOpenBatch } from '../outgoing/deferred-acks.ts'
import { createFiltersBarrier } from '../peers/update-interest.ts'
import { startRetainedReplay } from '../retained/retained-replay.ts'
import type { Command, RequestId } from '../model/inputs.ts'
import { addFilterMountpoint } from '../namespaces/mountpoint.ts'
import type { ExclusiveCommand } from '../state/peers/exclusive-filters.ts'
import type { CommandFailure, CommandResult } from '../model/outputs.ts'
import type { Session } from '../state/sessions/session.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { recordSubscription, checkSubscription, subscribe, unsubscribe } from '../packets/handle-subscribe.ts'
import { completeCommand, completeCommandWhenCommitted } from './command-results.ts'

type Subscribing = Extract<Command, { name: 'subscribe' }>

export function subscribeAsAdmin(
  state: AckParts & SubscribeParts & Parts<'ids' | 'memory' | 'sessions'>,
  requestId: RequestId,
  command: Subscribing,
): void {
  const { clientId, filter } = command
  const session = state.sessions.get(clientId)
  if (session === undefined) return completeCommand(state.outputs, requestId, { done: false, why: 'no-such-client' })
  const mounted = addFilterMountpoint(session.mountpoint, filter)
  if (mounted === undefined) return completeCommand(state.outputs, requestId, { done: false, why: 'invalid-topic' })
  const why = checkAdminSubscription(state, session, mounted)
  if (why !== undefined) return completeCommand(state.outputs, requestId, { done: false, why })
  const exclusive = splitExclusiveFilter(mounted)
  const isHeld = session.subscriptions?.has(mounted) === true
  if (exclusive === undefined || isHeld)
    return subscribeNow(state, requestId, { session, mounted, qos: command.qos, options: command.options })
  const { qos, options } = command
  const wanted: ExclusiveCommand = { requestId, clientId, mounted, exclusive, qos, options }
  const response = requestExclusive(state, exclusive, clientId)
  if (typeof response === 'number') state.peers.exclusive.commands.set(response, wanted)
  else handleExclusiveOutcome(state, wanted, outcomes[response])
}

const outcomes = { given: 'given', held: 'quota-exceeded', unreachable: 'shard-behind' } as const

/** Handles the response of the registry. Meanwhile the client may have disconnected, or may have subscribed itself. */
export function handleExclusiveOutcome(
  state: AckParts & SubscribeParts & Parts<'memory' | 'sessions'>,
  { requestId, clientId, mounted, exclusive, qos, options }: ExclusiveCommand,
  outcome: 'given' | CommandFailure,
): void {
  if (outcome !== 'given') return completeCommand(state.outputs, requestId, { done: false, why: outcome })
  const session = state.sessions.get(clientId)
  const why = session === undefined ? 'no-such-client' : checkAdminSubscription(state, session, mounted)
  if (session !== undefined && why === undefined)
    return subscribeNow(state, requestId, { session, mounted, qos, options })
  if (session?.subscriptions?.has(mounted) !== true) releaseAtOwner(state, exclusive, clientId)
  completeCommand(state.outputs, requestId, { done: false, why: why ?? 'no-such-client' })
}

interface Subscribed {
  readonly session: Session
  readonly mounted: TopicFilter
  readonly qos: Subscribing['qos']
  readonly options?: Subscribing['options']
}

function subscribeNow(
  state: SubscribeParts & Parts<'settings' | 'storage'>,
  requestId: RequestId,
  { session, mounted, qos, options: exclusiveCommand }: Subscribed,
): void {
  const granted = qos < state.settings.maximumQoS ? qos : state.settings.maximumQoS
  const usual = { noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
  const options = { ...usual, ...exclusiveCommand, qos: granted }
  const added = subscribe(state, session, mounted, { ...options, identifier: undefined, raisesTo: 0 })
  const seen = createFiltersBarrier(state.peers, [mounted])
  completeAfterCommit(state, requestId, { session, result: { done: true, matched: 1 }, seen })
  if (state.rules.triggers.wanted['session-subscribed'])
    recordSubscription(state, 'session-subscribed', session, { filter: mounted, qos: granted, properties: undefined })
  startRetainedReplay(state, session, mounted, added)
}

function checkAdminSubscription(
  state: Parts<'memory' | 'settings' | 'storage' | 'subscriptions'>,
  session: Session,
  mounted: TopicFilter,
): CommandFailure | undefined {
  const reason = checkSubscription(state, session, mounted)
  if (reason === undefined || reason === reasonCodes.quotaExceeded)
    return reason === undefined ? undefined : 'quota-exceeded'
  return reason === reasonCodes.unspecifiedError && !state.storage.isHealthy ? 'storage-failing' : 'not-available'
}

export function unsubscribeAsAdmin(
  state: SubscribeParts & Parts<'sessions' | 'storage'>,
  requestId: RequestId,
  { clientId, filter }: Extract<Command, { name: 'unsubscribe' }>,
): void {
  const session = state.sessions.get(clientId)
  if (session === undefined) return completeCommand(state.outputs, requestId, { done: false, why: 'no-such-client' })
  const mounted = addFilterMountpoint(session.mountpoint, filter)
  const wasThere = mounted !== undefined && unsubscribe(state, session, mounted)
  completeAfterCommit(state, requestId, { session, result: { done: true, matched: wasThere ? 1 : 0 }, seen: undefined })
}

/** Completes the command after the commit, and for several shards after each peer knows the filter. */
function completeAfterCommit(
  state: Parts<'batches' | 'outputs' | 'storage'>,
  requestId: RequestId,
  { session, result, seen }: { session: Session; result: CommandResult; seen: CommitBarrier | undefined },
): void {
  const barrier = seen ?? new CommitBarrier()
  if (session.stored !== undefined) addOpenBatch(state, barrier)
  barrier.arrive()
  completeCommandWhenCommitted(state, requestId, { result, barrier })
}
