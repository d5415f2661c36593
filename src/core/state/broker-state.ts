// All that the broker knows, and the lists into which handlers put what is to happen. Handlers are functions over
// this; none of them keeps anything of its own.

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
import type { MatchedRule, RuleHook } from '../model/rule-hook.ts'
import type { RuleTriggerKind } from '../model/rule-trigger.ts'
import { RuleTriggers } from './rule-triggers.ts'
import type { CoreSettings } from '../model/settings.ts'
import type { MatchRegex } from '../model/topic-rewrites.ts'
import { BufferPool } from '../model/buffer-pool.ts'
import type { RetainedMessage, StoredRetained } from '../model/retained-message.ts'
import { RetainedTree, TopicRouter, type SubscriptionOptions } from '../topics/index.ts'
import type { CommitBarrier } from '../model/commit-barrier.ts'

/** Drops can come by the million: so many in so long are told as events, the counters tell of all of them. */
const defaultDropEvents = 64
const dropEventWindowMs = 100

/** Of a subscription beside its filter: entries of maps and of the trie, and its options. */
const filterOverheadBytes = 400

export interface BrokerCounts {
  publishesReceived: number
  publishesSent: number
  /** QoS 1 and 2 that did not leave at once: they wait for their client or for room in its window. */
  publishesLeftWaiting: number
  dropped: Record<DropReason, number>
}

/** Subscriptions of all sessions, counted as they come and go. */
export interface SubscriptionCounts {
  subscriptions: number
  /** Those that begin with `$share/`. */
  shared: number
  /** Sessions with one subscription or more. */
  subscribers: number
}

/** A session that has ended, and whose subscriptions are not all out of the routes. */
export interface EndingSession {
  readonly session: Session
  /** Those that are not out. */
  readonly rest: Iterator<[TopicFilter, SubscriptionOptions]>
  /** As it was counted for the other shards. */
  readonly standing: SessionPresence
}

/** The will of a client that is gone and has no session here. */
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

/** A session that is given retained messages, or another shard that has asked for some. */
export type RetainedReader = Session | RetainedRequest

/** A will that is to be published once its message is read from disk. */
export type DueWill = WillLoad<Session, Message>

/** A will that was published and is not on disk yet on every shard that is to keep it: see `sessions/stored-wills.ts`. */
export interface PendingWill {
  /** Of its record: the client id, or a reserved name. */
  name: string
  readonly message: Message
}

export interface BrokerOptions {
  /** Makes the client ids that this broker assigns unlike those of any other: random text from the driver. */
  readonly identity: string
  readonly topics: TopicTable
  /** Undefined: nobody is denied anything. */
  readonly permissions?: Permissions
  /** Undefined: the only one. */
  readonly shard?: ShardPlace
  /** How clients are told apart; undefined: nobody belongs to a namespace. */
  readonly namespaces?: NamespaceSettings | undefined
  /** What each namespace may have; undefined: as much as it likes. */
  readonly quotas?: NamespaceQuotas | undefined
  /**
   * How many retained messages the other shards have, as far as is known: they count for `maxRetainedMessages`. Undefined:
   * nobody knows, and each shard has its part of the room.
   */
  readonly retainedOnPeers?: (() => number) | undefined
  /** What the bridges of this broker mark their messages with; undefined: nobody is told. */
  readonly brokerName?: string | undefined
  /** Undefined: the core makes an account that nobody else reads. */
  readonly memory?: MemoryAccount | undefined
  /** Undefined: no topic is replaced. */
  readonly matchRegex?: MatchRegex | undefined
  /** Undefined: there are no rules. */
  readonly ruleHook?: RuleHook | undefined
  /** Drops that are told as events in a tenth of a second; undefined: 64. */
  readonly maxDropEvents?: number | undefined
}

/** Who waits for the answer to a question. */
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
  /** The other shards of the node; undefined where there are none. */
  readonly peerTable: PeerTable | undefined
  nowMs = 0
  readonly sessions: SessionTable
  readonly router: TopicRouter<Session, Peer>
  readonly retained = new RetainedTree<RetainedMessage>((message) => message.payloadBytes)
  readonly retainedPayloads: RetainedPayloads<RetainedReader>
  /** Those among them that the broker has said of itself: they take nobody's room. */
  retainedOfBroker = 0
  /** Publications that topics have been given to remember, where there is no other shard; neighbours count them otherwise. */
  retainedHere = 0
  readonly retainedOnPeers: (() => number) | undefined
  readonly deadlines = new Deadlines()
  /** Bytes held for clients, by use. */
  readonly memory: MemoryAccount
  readonly buffers = new BufferPool()
  readonly payloadRefcounts = new PayloadRefcounts()
  readonly sharedRedelivery = new SharedRedelivery<Session>()
  /** Vows that wait for the disk, by batch. */
  readonly barriersByBatch = new PendingQueue<{ readonly batch: number; readonly barrier: CommitBarrier }>()
  /** Commands of the operator whose answer waits for a disk, here or on another shard. */
  readonly pendingCommands = new Set<RequestId>()
  /**
   * Wills of clients that are gone and have no session, by client id: of clean sessions before a restart. And those that were
   * owed or were to be published before another of the same client, by the names of their records.
   */
  readonly delayedWills = new Map<string, OrphanWill>()
  /** By the IDs in the names of their records: see `publish/delay-message.ts`. */
  readonly delayedMessages = new Map<string, DelayedMessage>()
  /** Large wills that are in memory because their records are not durable, by batch. */
  readonly unwrittenWills = new PendingQueue<{ readonly batch: number; readonly will: SessionWill }>()
  readonly willLoads = new WillLoads<Session, Message>()
  /** By the names of their records. */
  readonly pendingWills = new Map<string, PendingWill>()
  /** Read at the start, and to be sent on when everything is: see `shared/shared-handoff.ts`. */
  readonly restoredHandoffs: SharedHandoff[] = []
  /** By name, the first to end first: see `shared/expired-session-redelivery.ts`. */
  readonly endedQueues = new Map<string, EndedSessionQueue>()
  readonly pendingRequests = new Map<RequestId, PendingRequest>()
  /** Connections that wait for an older one of the same client id to be heard to its end. */
  readonly waitingForTakeover = new Map<string, Set<Connection>>()
  /** Sessions that have retained messages to be given and room for them. */
  readonly replaying = new Set<Session>()
  /** In the order in which they ended. */
  readonly endingSessions = new PendingQueue<EndingSession>()
  /** Connections whose reader stands still until the disk serves again. */
  readonly waitingForStorage = new Set<Connection>()
  /** Connections whose reader stands still until the next look at the memory of the node. */
  readonly waitingForMemory = new Set<Connection>()
  /** The place of the session that is relieved next; undefined: none is. See `memory/memory-relief.ts`. */
  reliefFrom: number | undefined = undefined
  /** Stored sessions that hold as many messages as they may. */
  readonly fullSessions = new Set<Session>()
  /** Who is being asked whether it may stay, since permissions changed; stale: they have changed once more meanwhile. */
  accessChecks: { readonly sessions: Iterator<Session>; isStale: boolean } | undefined = undefined
  /** What clients are subscribed to, for bridges that want to know; undefined: none does. */
  clientFilters: ClientFilters | undefined = undefined
  /** Who holds a filter exclusively: see `peers/exclusive-subscriptions.ts`. */
  readonly exclusiveHolders = new Map<TopicFilter, Session>()
  /** Of `settings.topicRewrites`. */
  readonly matchRegex: MatchRegex
  /** Runs rules; undefined: there are none. */
  readonly ruleHook: RuleHook | undefined
  /** Of the message that is being routed; undefined: none. */
  matchedRules: readonly MatchedRule[] | undefined = undefined
  /** What has happened that rules ask for, beside messages. */
  readonly ruleTriggers = new RuleTriggers()
  /** Connections that are not read from until the actions of rules have stored less. */
  readonly waitingForActions = new Set<Connection>()
  /** A session that was full is so no longer: who waits for actions tries again. */
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

  /** From here on messages run these. */
  setRules(
    rules: Iterable<readonly [filter: TopicFilter, rule: MatchedRule]>,
    triggers: ReadonlySet<RuleTriggerKind>,
  ): void {
    this.router.setRules(rules)
    this.ruleTriggers.setWanted(triggers)
    // Who waits for actions may have nothing to wait for.
    this.hasActionRoom = true
  }

  /** A subscription of the session has come (1) or gone (-1); what the session holds is as it is afterwards. */
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

  /** A client id that no client has, as the name of a session. */
  assignClientId(namespace: string | undefined): string {
    let clientId
    do clientId = namespacedName(namespace, `auto-${this.identity}-${(++this.#lastAssigned).toString(36)}`)
    while (this.sessions.has(clientId) || !this.isOwn(clientId))
    return clientId
  }

  /** Not used twice in this life of the broker. */
  nextSerial(): number {
    return ++this.#lastSerial
  }

  /** Its session lives on this shard. */
  isOwn(clientId: string): boolean {
    return shardOf(clientId, this.shard.count) === this.shard.own
  }

  /** Shards choose from ids of their own: own + count, own + 2 * count, ... */
  nextBodyId(): number {
    this.#lastBody += this.shard.count
    return this.#lastBody
  }

  /** Body ids up to here are in use since before a restart. */
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

/** Most are empty most of the time, and cutting an array costs whether it is or not. */
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
    'storage-full': 0,
    'no-retained-room': 0,
    'session-ended': 0,
    'peer-behind': 0,
    'not-allowed': 0,
  }
}
