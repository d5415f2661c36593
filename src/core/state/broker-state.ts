// The state of the broker, and the lists of outputs. Handlers are functions on this state and have none of their own.

import type { TopicFilter, TopicTable } from '../../protocol/index.ts'
import { Batches } from '../model/batches.ts'
import { isBridgeClient } from '../model/bridge-client-id.ts'
import type { CommitBarrier } from '../model/commit-barrier.ts'
import { Deadlines } from '../model/deadlines.ts'
import type { DropReason } from '../model/drop-reason.ts'
import { everythingAllowed, type Permissions } from '../model/identity.ts'
import type { RequestId } from '../model/inputs.ts'
import { MemoryAccount } from '../model/memory-account.ts'
import type { Message } from '../model/message.ts'
import type { Batch, BrokerEvent, Close, Outputs, ReaderChange } from '../model/outputs.ts'
import type { ShardPlace } from '../model/peer-messages.ts'
import { PeerSendList } from '../model/peer-send-list.ts'
import type { NamespaceSettings } from '../model/resolve-namespace.ts'
import type { CountedTopic, MatchedRule, RuleHook } from '../model/rule-hook.ts'
import type { RuleTriggerKind } from '../model/rule-trigger.ts'
import { SendList } from '../model/send-list.ts'
import type { CoreSettings } from '../model/settings.ts'
import type { MatchRegex } from '../model/topic-rewrites.ts'
import type { NamespaceQuotas } from '../namespaces/namespace-quotas.ts'
import { TopicRouter } from '../topics/index.ts'
import { AccessState } from './access-state.ts'
import type { ClientFilters } from './client-filters.ts'
import { PeerTable } from './peers/peer-table.ts'
import type { Peer } from './peers/peer.ts'
import { PendingRequests } from './pending-requests.ts'
import { RetainedState } from './retained-state.ts'
import { RuleTriggers } from './rule-triggers.ts'
import { canReceive } from './sessions/can-receive.ts'
import { PendingQueue } from './sessions/pending-queue.ts'
import { SessionTable } from './sessions/session-table.ts'
import type { Session } from './sessions/session.ts'
import { SharedState } from './shared-state.ts'
import { StoredPayloads } from './stored-payloads.ts'
import { SubscriptionState } from './subscription-state.ts'
import { UniqueIds } from './unique-ids.ts'
import { WaitingConnections } from './waiting-connections.ts'
import { WillState } from './will-state.ts'

/** There may be millions of drops: at most this number per interval become events; counters count all. */
const defaultDropEvents = 64
const dropEventWindowMs = 100

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

/** Namespaces and their limits. */
export interface NamespaceState {
  /** Undefined: there are no namespaces. */
  readonly settings: NamespaceSettings | undefined
  /** Undefined: namespaces have no limits. */
  readonly quotas: NamespaceQuotas | undefined
}

/** What the core does for bridges only. */
export interface BridgeState {
  /** The name with which bridges of this broker mark messages; undefined: it is not announced. */
  readonly brokerName: string | undefined
  /** Filters of clients, for bridges that need them; undefined: none does. */
  clientFilters: ClientFilters | undefined
}

/** Each part is the data of one subject. A function takes the parts that it uses, if these are few. */
export class BrokerState {
  settings: CoreSettings
  nowMs = 0
  isShuttingDown = false
  readonly topics: TopicTable
  /** Matches the expressions of `settings.topicRewrites`. */
  readonly matchRegex: MatchRegex
  readonly shard: ShardPlace
  readonly ids: UniqueIds
  readonly namespaces: NamespaceState
  readonly access: AccessState
  readonly sessions: SessionTable
  readonly router: TopicRouter<Session, Peer>
  readonly subscriptions: SubscriptionState
  readonly shared = new SharedState()
  readonly retained: RetainedState
  readonly wills = new WillState()
  readonly waiting = new WaitingConnections()
  readonly bridges: BridgeState
  /** The other shards of the node; undefined if there are none. */
  readonly peerTable: PeerTable | undefined
  readonly deadlines = new Deadlines()
  /** Bytes held for clients, by use. */
  readonly memory: MemoryAccount
  readonly payloads: StoredPayloads
  readonly requests = new PendingRequests()
  /** Barriers that wait for the disk, by batch. */
  readonly barriersByBatch = new PendingQueue<{ readonly batch: number; readonly barrier: CommitBarrier }>()
  /** Commands of the API that wait for a commit, here or on a peer. */
  readonly pendingCommands = new Set<RequestId>()
  /** Runs rules; undefined if there are none. */
  readonly ruleHook: RuleHook | undefined
  /** Rules of the message that is being routed; undefined: none. */
  matchedRules: readonly MatchedRule[] | undefined = undefined
  /** Recorded events other than messages for which rules run. */
  readonly ruleTriggers = new RuleTriggers()
  /** A full queue has space again: connections that wait for actions are handled again. */
  hasActionRoom = false
  storageIsHealthy = true
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
  readonly closes: Close[] = []
  readonly readers: ReaderChange[] = []
  readonly events: BrokerEvent[] = []
  readonly peerSends = new PeerSendList()
  readonly outputs: Outputs
  readonly #mostDropEvents: number
  #dropEvents = 0
  #dropEventsSinceMs = 0

  constructor(settings: CoreSettings, options: BrokerOptions) {
    const shard = options.shard ?? { own: 0, count: 1 }
    const { own } = shard
    this.settings = settings
    this.topics = options.topics
    this.matchRegex = options.matchRegex ?? (() => undefined)
    this.shard = shard
    this.ids = new UniqueIds(options.identity, shard)
    this.namespaces = { settings: options.namespaces, quotas: options.quotas }
    this.access = new AccessState(options.permissions ?? everythingAllowed)
    this.memory = options.memory ?? new MemoryAccount()
    this.sessions = new SessionTable(this.memory)
    this.router = new TopicRouter(
      (session, topic) => canReceive(this, session, topic),
      ({ number }) => number < own,
    )
    this.subscriptions = new SubscriptionState(this.memory)
    this.retained = new RetainedState(this.memory, options.retainedOnPeers)
    this.bridges = { brokerName: options.brokerName, clientFilters: undefined }
    this.peerTable = shard.count > 1 ? new PeerTable(shard) : undefined
    this.payloads = new StoredPayloads(shard)
    this.ruleHook = options.ruleHook
    this.#mostDropEvents = options.maxDropEvents ?? defaultDropEvents
    const { sends, closes, readers: readScheduler, events, peerSends } = this
    this.outputs = { sends, requests: [], closes, readScheduler, events, peerSends }
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

  clearOutputs(): void {
    this.sends.clear()
    empty(this.outputs.requests)
    empty(this.closes)
    empty(this.readers)
    empty(this.events)
    this.peerSends.clear()
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
