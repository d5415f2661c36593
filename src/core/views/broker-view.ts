// Read-only views of the broker's state for other modules.

import type { QoS, Topic, TopicFilter, TopicName } from '../../protocol/index.ts'
import type { Parts } from '../state/parts.ts'
import type { BrokerCounts } from '../state/broker-counts.ts'
import type { SubscriptionCounts } from '../state/subscription-state.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import { hasReadyRequest } from '../peer-handlers/handle-retained.ts'
import { hasUnsentState } from '../peers/sync-peers.ts'
import type { MemoryAccount } from '../model/memory-account.ts'
import type { RetainedMessage } from '../messages/retained-message.ts'
import { toInternalSessionView, type InternalSessionView } from './internal-session.ts'
import type { CachedAuthorization } from '../model/authorization-cache.ts'
import {
  findMatching,
  type MatchingFound,
  findPublishObstacle,
  findSubscribeObstacle,
  type ClientStatus,
  findClientStatus,
} from './explain-client.ts'
import { type DelayedView, findDelayed, listDelayed } from './delayed-list.ts'
import { type RecountedUse, recountMemory } from './recount-memory.ts'
import { listNearlyFull, type NearlyFullSession } from './nearly-full-sessions.ts'
import { type MemoryUser, walkMemoryUsers } from './memory-users.ts'
import { estimateDelivery, type DeliveryEstimate } from './estimate-delivery.ts'
import { findRetainedView, type RetainedMessageView, type RetainedWalk, walkRetained } from './retained-list.ts'
import { type SlowSession, walkSlowSessions } from './slow-sessions.ts'
import type { SubscriptionOptions } from '../topics/index.ts'
import { type ClientFilter, listClients } from './client-list.ts'
import {
  type ClientNumber,
  type ClientTraffic,
  type NumberedClient,
  walkClientNumbers,
  walkClientTraffic,
} from './client-numbers.ts'
import { toClientQueue, type ClientQueueView } from './client-queue.ts'
import { findClientId } from './find-client-id.ts'
import { type ClientView, toClientView } from './client-view.ts'
import { listSubscriptions, type SubscriptionFilter, type SubscriptionView } from './subscription-list.ts'
import type { Slice, SliceWanted } from './walk.ts'

/** The parts of the state that views read. */
type ViewParts = Readonly<
  Parts<
    | 'access'
    | 'batches'
    | 'bridges'
    | 'counts'
    | 'memory'
    | 'nowMs'
    | 'peers'
    | 'retained'
    | 'router'
    | 'rules'
    | 'sessions'
    | 'settings'
    | 'storage'
    | 'subscriptions'
    | 'topics'
    | 'waiting'
    | 'wills'
  >
>

export class BrokerView {
  readonly #state: ViewParts

  constructor(state: ViewParts) {
    this.#state = state
  }

  /** Returns at most `max` persistent sessions whose queue is nearly full. */
  listNearlyFullSessions(max: number): readonly NearlyFullSession[] {
    return listNearlyFull(this.#state, max)
  }

  /** Returns whether work without a deadline remains. Then the shard sends `tick` in the next turn. */
  get hasMoreWork(): boolean {
    const { peers, retained, access, subscriptions, sessions } = this.#state
    if (retained.replaying.size > 0 || subscriptions.endingSessions.length > 0) return true
    if (access.checks !== undefined || sessions.reliefFrom !== undefined) return true
    if (this.#state.rules.triggers.hasWaiting) return true
    const { forActions, forQueues, forTurn } = this.#state.waiting
    if (forTurn.size > 0) return true
    if (this.#state.rules.hasActionCapacity && forActions.size + forQueues.size > 0) return true
    return (peers.hasAny && this.#hasMoreForPeers(peers)) || this.#state.bridges.clientFilters?.isComplete === false
  }

  #hasMoreForPeers(peers: PeerTable): boolean {
    return peers.hasRemainingSteps || hasUnsentState(peers) || (peers.isReady && hasReadyRequest(peers))
  }

  /** Number of clients whose messages wait for space in action queues, and the client ID of one of them; undefined: none waits. */
  get waitingForActions(): { readonly count: number; readonly clientId: string } | undefined {
    const { forActions } = this.#state.waiting
    const [connection] = forActions
    return connection && { count: forActions.size, clientId: findClientId(connection) ?? '' }
  }

  /** Returns client IDs of the clients that `waitingForActions` counts, at most `max`. */
  listClientsWaitingForActions(max: number): readonly string[] {
    return [...this.#state.waiting.forActions].slice(0, max).flatMap((connection) => findClientId(connection) ?? [])
  }

  /** Returns whether messages reach the subscribers on all shards, so that listeners may open. */
  get isReadyForClients(): boolean {
    return this.#state.peers.isReady
  }

  /** Returns whether there are writes, or a batch whose writes were all cancelled. */
  get hasBatch(): boolean {
    return this.#state.batches.isAny
  }

  /** Returns whether a running shard has not confirmed all messages. */
  get isAwaitingPeers(): boolean {
    return this.#state.peers.hasUnconfirmed
  }

  /** Number of filters that peers have reported, each counted for each peer. */
  get peerFilters(): number {
    return this.#state.peers.countFilters()
  }

  /** Bytes of payloads stored for other shards until these have them. */
  get unconfirmedBytes(): number {
    return this.#state.peers.all.reduce((sum, { outbox }) => sum + outbox.bytes, 0)
  }

  /** Returns whether messages of due wills are being read from disk. */
  get isReadingWills(): boolean {
    return !this.#state.wills.loads.isEmpty
  }

  get connections(): number {
    return this.#state.sessions.connected
  }

  get sessions(): number {
    return this.#state.sessions.size
  }

  /** Numbers of subscriptions of all sessions. */
  get held(): Readonly<SubscriptionCounts> {
    return this.#state.subscriptions.counts
  }

  /** Number of different filters of this shard. A filter that several shards have is counted on the shard with the lowest number. */
  get filters(): number {
    return this.#state.router.filters
  }

  get delayedMessages(): number {
    return this.#state.wills.delayedMessages.size
  }

  /** Returns delayed messages in the order in which they were stored. */
  listDelayed(skip: number, maxRows: number): readonly DelayedView[] {
    return listDelayed(this.#state.wills, skip, maxRows)
  }

  /** Returns the message, with its payload if that is in memory. */
  findDelayed(id: string): DelayedView | undefined {
    return findDelayed(this.#state.wills, id)
  }

  get retainedMessages(): number {
    return this.#state.retained.tree.count
  }

  /** Retained messages without those of the broker, which `retainer.max_retained_messages` limits. */
  get retainedOfClients(): number {
    return this.#state.retained.tree.count - this.#state.retained.ofBroker
  }

  get counts(): Readonly<BrokerCounts> {
    return this.#state.counts
  }

  findClient(clientId: string): ClientView | undefined {
    const session = this.#state.sessions.get(clientId)
    return session === undefined ? undefined : toClientView(session, this.#state.settings)
  }

  /** Undefined if no such session exists. */
  findClientQueue(clientId: string, limit: number): ClientQueueView | undefined {
    const session = this.#state.sessions.get(clientId)
    return session === undefined ? undefined : toClientQueue(session, limit)
  }

  *walkClients(): IterableIterator<ClientView> {
    for (const session of this.#state.sessions.values()) yield toClientView(session, this.#state.settings)
  }

  /** Returns one entry for each session; undefined for those that do not match the filter. */
  walkClientNumbers(filter: ClientFilter, name: ClientNumber): IterableIterator<NumberedClient | undefined> {
    return walkClientNumbers(this.#state, filter, name)
  }

  /** Returns one entry for each session; undefined for those without a connected client of the namespace (undefined: of any). */
  walkClientTraffic(namespace: string | undefined): IterableIterator<ClientTraffic | undefined> {
    return walkClientTraffic(this.#state, namespace)
  }

  /** Returns a slice of the clients that match the filter. */
  listClients(filter: ClientFilter, wanted: SliceWanted): Slice<ClientView> {
    return listClients(this.#state, filter, wanted)
  }

  listSubscriptions(filter: SubscriptionFilter, wanted: SliceWanted): Slice<SubscriptionView> {
    return listSubscriptions(this.#state, filter, wanted)
  }

  /** Returns the cached permissions of a connected client to publish; undefined if it is not connected. */
  listCachedAuthorizations(clientId: string): readonly CachedAuthorization[] | undefined {
    const connection = this.#state.sessions.get(clientId)?.connection
    return connection === undefined ? undefined : [...(connection.authorizationCache?.walkEntries() ?? [])]
  }

  findSubscriptions(clientId: string): ReadonlyMap<TopicFilter, SubscriptionOptions> {
    return this.#state.sessions.get(clientId)?.subscriptions ?? new Map<TopicFilter, SubscriptionOptions>()
  }

  /** Returns the state of the session of an internal client; undefined if there is none. */
  findInternalSession(clientId: string): InternalSessionView | undefined {
    return toInternalSessionView(this.#state.sessions, clientId)
  }

  /**
   * Returns the identity and the remaining limits of a client at that time; undefined if it has no session on this
   * shard.
   */
  findClientStatus(clientId: string, nowMs: number): ClientStatus | undefined {
    return findClientStatus(this.#state, clientId, nowMs)
  }

  /** Returns at most `limit` subscriptions of this shard that match a publication. */
  findMatching(
    publication: { readonly topic: string; readonly qos: QoS; readonly publisher: string },
    limit: number,
  ): MatchingFound {
    return findMatching(this.#state, publication, limit)
  }

  /** Returns an obstacle other than permissions as text. `topic` is a filter for `subscribe`. */
  findObstacle(action: 'publish' | 'subscribe', topic: string): string | undefined {
    return action === 'publish'
      ? findPublishObstacle(this.#state.storage, topic)
      : findSubscribeObstacle(this.#state.settings, topic as TopicFilter)
  }

  /** Estimates the deliveries of a message of this QoS by sessions of this shard, over all of these topics. */
  estimateDelivery(topics: readonly string[], qos: QoS): DeliveryEstimate {
    return estimateDelivery(this.#state, topics, qos)
  }

  /** Returns the retained messages of this shard that match. */
  walkRetained(filter: TopicFilter): RetainedWalk {
    return walkRetained(this.#state.retained, filter)
  }

  /** Returns the retained message of one topic, with its payload. */
  findRetainedView(topic: TopicName): RetainedMessageView | undefined {
    return findRetainedView(this.#state.retained, topic)
  }

  /** Returns one entry per session; undefined for sessions that are not slow. */
  walkSlowSessions(nowMs: number): IterableIterator<SlowSession | undefined> {
    return walkSlowSessions(this.#state.sessions, nowMs)
  }

  /** Counts the memory again, to check the account: see `memory-recount.ts`. */
  recountMemory(): Record<RecountedUse, number> {
    return recountMemory(this.#state.sessions)
  }

  /** Returns for each session its large uses of memory. */
  walkMemoryUsers(): IterableIterator<readonly MemoryUser[]> {
    return walkMemoryUsers(this.#state.sessions)
  }

  /** Memory that is used for clients. */
  get memory(): Pick<MemoryAccount, 'get' | 'level' | 'totalBytes'> {
    return this.#state.memory
  }

  findRetained(topic: Topic): RetainedMessage | undefined {
    return this.#state.retained.tree.get(topic.name)
  }
}
