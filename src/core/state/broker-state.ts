// The state of the broker, and the lists of outputs. Handlers are functions on this state and have none of their own.

import type { QoS, TopicFilter, TopicName, TopicTable } from '../../protocol/index.ts'
import { everythingAllowed, type Permissions } from '../model/identity.ts'
import { Batches } from '../model/batches.ts'
import { PayloadRefcounts } from '../model/payload-refcounts.ts'
import { isBridgeClient } from '../model/bridge-client-id.ts'
import type { ClientFilters } from './client-filters.ts'
import type { Connection } from '../model/connection.ts'
import { Deadlines } from '../model/deadlines.ts'
import type { RequestId } from '../model/inputs.ts'
import { MemoryAccount } from '../model/memory-account.ts'
import type { Message } from '../model/message.ts'
import { SharedRedelivery, type EndedSessionQueue, type SharedHandoff } from './sessions/shared-redelivery-state.ts'
import type { NamespaceQuotas } from '../namespaces/namespace-quotas.ts'
import { namespacedName } from '../namespaces/namespaced-names.ts'
import type { NamespaceSettings } from '../model/resolve-namespace.ts'
import { PeerTable } from './peers/peer-table.ts'
import type { SessionPresence } from './peers/local-interest.ts'
import type { Peer } from './peers/peer.ts'
import type { RetainedRequest } from './peers/retained-request.ts'
import type { DropReason } from '../model/drop-reason.ts'
import type { Batch, BrokerEvent, Close, Outputs, CoreRequest, ReaderChange } from '../model/outputs.ts'
import { shardOf, type ShardPlace } from '../model/peer-messages.ts'
import { PeerSendList } from '../model/peer-send-list.ts'
import { SendList } from '../model/send-list.ts'
import { canReceive } from './sessions/can-receive.ts'
import { PendingQueue } from './sessions/pending-queue.ts'
import { RetainedPayloads } from './sessions/retained-payloads.ts'
import type { Session } from './sessions/session.ts'
import type { SessionWill } from './sessions/session-will.ts'
import { WillLoads, type WillLoad } from './sessions/will-loads.ts'
import { SessionTable } from './sessions/session-table.ts'
import type { CountedTopic, MatchedRule, RuleHook } from '../model/rule-hook.ts'
import type { RuleTriggerKind } from '../model/rule-trigger.ts'
import { RuleTriggers } from './rule-triggers.ts'
import type { CoreSettings } from '../model/settings.ts'
import type { MatchRegex } from '../model/topic-rewrites.ts'
import { BufferPool } from '../model/buffer-pool.ts'
import type { RetainedMessage, StoredRetained } from '../model/retained-message.ts'
import { RetainedTree, TopicRouter, type SubscriptionOptions } from '../topics/index.ts'
import type { CommitBarrier } from '../model/commit-barrier.ts'

/** There may be millions of drops: at most this number per interval become events; counters count all. */
const defaultDropEvents = 64
const dropEventWindowMs = 100

/** Memory of a subscription without its filter: entries of maps and of the trie, and its options. */
const filterOverheadBytes = 400

export interface BrokerCounts {
  publishesReceived: number
  publishesSent: number
  /** QoS 1 and 2 messages that were not sent at once: they wait for their client or for the in-flight window. */
  publishesLeftWaiting: number
  /** Times that deliveries to a client were put off: `deliveries_rate`. */
  deliveriesPutOff: number
  subscriptionsRefusedByRate: number
  dropped: Record<DropReason, number>
}

/** Subscriptions of all sessions, counted when they are added and removed. */
export interface SubscriptionCounts {
  subscriptions: number
  /** Those that begin with `$share/`. */
  shared: number
  /** Sessions with at least one subscription. */
  subscribers: number
}

/** An ended session whose subscriptions are still being removed from the router. */
export interface EndingSession {
  readonly session: Session
  /** The remaining ones. */
  readonly rest: Iterator<[TopicFilter, SubscriptionOptions]>
  /** How it counted for the peers. */
  readonly standing: SessionPresence
}

/** The will of a disconnected client that has no session on this shard. */
export interface OrphanWill {
  readonly will: SessionWill
  readonly dueAtMs: number
}

/** A message to `$delayed/...` that was acknowledged and is not published yet. */
export interface DelayedMessage {
  /** Its record has the name of this will. A large message is on disk only. */
  readonly will: SessionWill
  readonly dueAtMs: number
  readonly topic: TopicName
  readonly qos: QoS
  readonly retain: boolean
  readonly publisher: string
  readonly publisherUsername: string | undefined
  readonly publishedAtMs: number
  readonly payloadBytes: number
}

/** A session that gets retained messages, or a request of another shard for some. */
export type RetainedReader = Session | RetainedRequest

/** A will that is published after its message was read from disk. */
export type DueWill = WillLoad<Session, Message>

/**
 * A will that was published and is not durable yet on every shard that must store it: see `sessions/stored-wills.ts`.
 */
export interface PendingWill {
  /** Name of its record: the client ID, or a reserved name. */
  name: string
  readonly message: Message
}

export interface BrokerOptions {
  /** Random text from the driver that makes assigned client IDs unique. */
  readonly identity: string
  readonly topics: TopicTable
  /** Undefined: all actions are allowed. */
  readonly permissions?: Permissions
  /** Undefined: the only shard. */
  readonly shard?: ShardPlace
  /** Undefined: there are no namespaces. */
  readonly namespaces?: NamespaceSettings | undefined
  /** Limits of namespaces; undefined: none. */
  readonly quotas?: NamespaceQuotas | undefined
  /**
   * Returns the known number of retained messages of other shards, which count for `maxRetainedMessages`. Undefined:
   * the number is not known, and each shard has its part of the limit.
   */
  readonly retainedOnPeers?: (() => number) | undefined
  /** The name with which bridges of this broker mark messages; undefined: it is not announced. */
  readonly brokerName?: string | undefined
  /** Undefined: the core creates an account of its own. */
  readonly memory?: MemoryAccount | undefined
  /** Undefined: no topic is rewritten. */
  readonly matchRegex?: MatchRegex | undefined
  /** Undefined: there are no rules. */
  readonly ruleHook?: RuleHook | undefined
  /** Maximum drop events in a tenth of a second; undefined: 64. */
  readonly maxDropEvents?: number | undefined
}

/** A request whose response is expected. */
export type PendingRequest =
  | { readonly for: 'connect' | 'reauthentication' | 'permission'; readonly connection: Connection }
  | { readonly for: 'queue'; readonly session: Session; readonly upTo: number }
  | { readonly for: 'oldest'; readonly session: Session }
  | { readonly for: 'ended'; readonly queue: EndedSessionQueue }
  | { readonly for: 'will'; readonly will: DueWill }
  | { readonly for: 'retained'; readonly retained: StoredRetained }

export class BrokerState {
  settings: CoreSettings
  readonly identity: string
  readonly brokerName: string | undefined
  readonly topics: TopicTable
  readonly permissions: Permissions
  readonly shard: ShardPlace
  readonly namespaces: NamespaceSettings | undefined
  readonly quotas: NamespaceQuotas | undefined
  /** The other shards of the node; undefined if there are none. */
  readonly peerTable: PeerTable | undefined
  nowMs = 0
  readonly sessions: SessionTable
  readonly router: TopicRouter<Session, Peer>
  readonly retained = new RetainedTree<RetainedMessage>((message) => message.payloadBytes)
  readonly retainedPayloads: RetainedPayloads<RetainedReader>
  /** Retained messages of the broker itself, which do not count for limits. */
  retainedOfBroker = 0
  /** Number of retained publications if there is no other shard; otherwise the peer table counts them. */
  retainedHere = 0
  readonly retainedOnPeers: (() => number) | undefined
  readonly deadlines = new Deadlines()
  /** Bytes held for clients, by use. */
  readonly memory: MemoryAccount
  readonly buffers = new BufferPool()
  readonly payloadRefcounts = new PayloadRefcounts()
  readonly sharedRedelivery = new SharedRedelivery<Session>()
  /** Barriers that wait for the disk, by batch. */
  readonly barriersByBatch = new PendingQueue<{ readonly batch: number; readonly barrier: CommitBarrier }>()
  /** Commands of the API that wait for a commit, here or on a peer. */
  readonly pendingCommands = new Set<RequestId>()
  /**
   * Wills of disconnected clients without a session, by client ID: of clean sessions before a restart. Earlier wills of
   * the same client that are pending or due have the names of their records as keys.
   */
  readonly delayedWills = new Map<string, OrphanWill>()
  /** By the IDs in the names of their records: see `publish/delay-message.ts`. */
  readonly delayedMessages = new Map<string, DelayedMessage>()
  /** Large wills in memory whose records are not durable, by batch. */
  readonly unwrittenWills = new PendingQueue<{ readonly batch: number; readonly will: SessionWill }>()
  readonly willLoads = new WillLoads<Session, Message>()
  /** By the names of their records. */
  readonly pendingWills = new Map<string, PendingWill>()
  /** Restored at the start and sent after restore is complete: see `shared/shared-handoff.ts`. */
  readonly restoredHandoffs: SharedHandoff[] = []
  /** By name, in the order of their end: see `shared/expired-session-redelivery.ts`. */
  readonly endedQueues = new Map<string, EndedSessionQueue>()
  readonly pendingRequests = new Map<RequestId, PendingRequest>()
  /** Connections that wait until an older connection of the same client ID is read to its end. */
  readonly waitingForTakeover = new Map<string, Set<Connection>>()
  /** Sessions with retained messages to send and space for them. */
  readonly replaying = new Set<Session>()
  /** In the order in which they ended. */
  readonly endingSessions = new PendingQueue<EndingSession>()
  /** Connections whose reading pauses until the store works again. */
  readonly waitingForStorage = new Set<Connection>()
  /** Connections whose reading pauses until the next check of the node's memory. */
  readonly waitingForMemory = new Set<Connection>()
  /** Index of the next session whose memory is relieved; undefined: none. See `memory/memory-relief.ts`. */
  reliefFrom: number | undefined = undefined
  /** Persistent sessions whose queue is full. */
  readonly fullSessions = new Set<Session>()
  /** Sessions to check since permissions changed; stale: they have changed again meanwhile. */
  accessChecks: { readonly sessions: Iterator<Session>; isStale: boolean } | undefined = undefined
  /** Filters of clients, for bridges that need them; undefined: none does. */
  clientFilters: ClientFilters | undefined = undefined
  /** Session that holds each exclusive filter: see `peers/exclusive-subscriptions.ts`. */
  readonly exclusiveHolders = new Map<TopicFilter, Session>()
  /** Matches the expressions of `settings.topicRewrites`. */
  readonly matchRegex: MatchRegex
  /** Runs rules; undefined if there are none. */
  readonly ruleHook: RuleHook | undefined
  /** Rules of the message that is being routed; undefined: none. */
  matchedRules: readonly MatchedRule[] | undefined = undefined
  /** Recorded events other than messages for which rules run. */
  readonly ruleTriggers = new RuleTriggers()
  /** Connections whose reading pauses until action queues have space. */
  readonly waitingForActions = new Set<Connection>()
  /** A full queue has space again: connections that wait for actions are handled again. */
  hasActionRoom = false
  openConnections = 0
  readonly subscriptionCounts: SubscriptionCounts = { subscriptions: 0, shared: 0, subscribers: 0 }
  storageIsHealthy = true
  isShuttingDown = false
  committedBatch = 0
  readonly batches = new Batches(this)
  readonly counts: BrokerCounts = {
    publishesReceived: 0,
    publishesSent: 0,
    publishesLeftWaiting: 0,
    deliveriesPutOff: 0,
    subscriptionsRefusedByRate: 0,
    dropped: newDropCounts(),
  }
  readonly sends = new SendList()
  readonly requests: CoreRequest[] = []
  readonly closes: Close[] = []
  readonly readers: ReaderChange[] = []
  readonly events: BrokerEvent[] = []
  readonly peerSends = new PeerSendList()
  readonly outputs: Outputs
  readonly #mostDropEvents: number
  #dropEvents = 0
  #dropEventsSinceMs = 0
  #lastQuestion: RequestId = 0
  #lastAssigned = 0
  #lastSerial = 0
  #lastBody: number

  constructor(settings: CoreSettings, options: BrokerOptions) {
    this.settings = settings
    this.identity = options.identity
    this.brokerName = options.brokerName
    this.topics = options.topics
    this.ruleHook = options.ruleHook
    this.matchRegex = options.matchRegex ?? (() => undefined)
    this.memory = options.memory ?? new MemoryAccount()
    this.sessions = new SessionTable(this.memory)
    this.retainedPayloads = new RetainedPayloads(this.memory)
    this.permissions = options.permissions ?? everythingAllowed
    this.shard = options.shard ?? { own: 0, count: 1 }
    const { own } = this.shard
    this.router = new TopicRouter(
      (session, topic) => canReceive(this, session, topic),
      ({ number }) => number < own,
    )
    this.namespaces = options.namespaces
    this.quotas = options.quotas
    this.retainedOnPeers = options.retainedOnPeers
    this.#mostDropEvents = options.maxDropEvents ?? defaultDropEvents
    this.peerTable = this.shard.count > 1 ? new PeerTable(this.shard) : undefined
    this.#lastBody = this.shard.own
    const { sends, requests, closes, readers: readScheduler, events, peerSends } = this
    this.outputs = { sends, requests, closes, readScheduler, events, peerSends }
  }

  /** Replaces the rules. */
  setRules(
    rules: Iterable<readonly [filter: TopicFilter, rule: MatchedRule]>,
    triggers: ReadonlySet<RuleTriggerKind>,
    countedTopics: ReadonlyMap<string, CountedTopic>,
  ): void {
    this.router.setRules(rules)
    this.ruleTriggers.setWanted(triggers, countedTopics)
    // The rules that connections wait for may have been removed.
    this.hasActionRoom = true
  }

  /** A subscription of the session was added (1) or removed (-1); the session's state is the one after the change. */
  countSubscription(session: Session, filter: TopicFilter, change: 1 | -1): void {
    const { subscriptionCounts } = this
    const now = session.subscriptions?.size ?? 0
    this.countFilter(filter, change)
    if (now === (change === 1 ? 1 : 0)) subscriptionCounts.subscribers += change
  }

  countFilter(filter: TopicFilter, change: 1 | -1): void {
    const { subscriptionCounts } = this
    subscriptionCounts.subscriptions += change
    this.memory.add('filters', change * (filterOverheadBytes + filter.length))
    if (filter.startsWith('$share/')) subscriptionCounts.shared += change
  }

  clearOutputs(): void {
    this.sends.clear()
    empty(this.requests)
    empty(this.closes)
    empty(this.readers)
    empty(this.events)
    this.peerSends.clear()
  }

  request(pendingRequests: PendingRequest): RequestId {
    const question = ++this.#lastQuestion
    this.pendingRequests.set(question, pendingRequests)
    return question
  }

  /** Returns a new unique client ID, as the name of a session. */
  assignClientId(namespace: string | undefined): string {
    let clientId
    do clientId = namespacedName(namespace, `auto-${this.identity}-${(++this.#lastAssigned).toString(36)}`)
    while (this.sessions.has(clientId) || !this.isOwn(clientId))
    return clientId
  }

  /** Unique since the start of the broker. */
  nextSerial(): number {
    return ++this.#lastSerial
  }

  /** Returns whether this shard owns the session. */
  isOwn(clientId: string): boolean {
    return shardOf(clientId, this.shard.count) === this.shard.own
  }

  /** Each shard uses its own IDs: own + count, own + 2 * count, ... */
  nextBodyId(): number {
    this.#lastBody += this.shard.count
    return this.#lastBody
  }

  /** Payload IDs up to `bodyId` are in use since before a restart. */
  bodyIdsUsedUpTo(bodyId: number): void {
    const { own, count } = this.shard
    const lastOfOwn = bodyId - ((((bodyId - own) % count) + count) % count)
    this.#lastBody = Math.max(this.#lastBody, lastOfOwn)
  }

  get openBatch(): Batch {
    return this.batches.openBatch
  }

  countDrop(session: Session | undefined, message: Message, reason: DropReason): void {
    this.counts.dropped[reason]++
    if (session !== undefined) countDropOf(session, reason)
    const { wanted } = this.ruleTriggers
    if (wanted['delivery-dropped'] || wanted['message-dropped']) this.#recordDrop(session, message, reason)
    if (this.nowMs - this.#dropEventsSinceMs >= dropEventWindowMs) {
      this.#dropEvents = 0
      this.#dropEventsSinceMs = this.nowMs
    }
    if (this.#dropEvents++ >= this.#mostDropEvents) return
    this.events.push({
      event: 'message-dropped',
      clientId: session === undefined ? '' : session.clientId,
      message,
      reason,
    })
  }

  #recordDrop(session: Session | undefined, message: Message, reason: DropReason): void {
    const { nowMs: atMs, ruleTriggers } = this
    const { qos, retain } = message
    if (session === undefined) {
      if (ruleTriggers.wanted['message-dropped']) ruleTriggers.addMessageDropped(message, reason, atMs)
    } else if (ruleTriggers.wanted['delivery-dropped']) {
      ruleTriggers.addDelivery('delivery-dropped', session, { message, qos, retain, reason, atMs })
    }
  }
}

function countDropOf(session: Session, reason: DropReason): void {
  session.droppedMessages++
  if (!isBridgeClient(session.clientId)) return
  session.drops ??= new Map()
  session.drops.set(reason, (session.drops.get(reason) ?? 0) + 1)
}

/** Most lists are usually empty, and truncating an array costs time even if it is empty. */
function empty(list: unknown[]): void {
  if (list.length > 0) list.length = 0
}

function newDropCounts(): Record<DropReason, number> {
  return {
    'queue-full': 0,
    'memory-full': 0,
    expired: 0,
    'too-large': 0,
    'not-reading': 0,
    'rate-limited': 0,
    'storage-full': 0,
    'no-retained-room': 0,
    'session-ended': 0,
    'peer-behind': 0,
    'not-allowed': 0,
  }
}
