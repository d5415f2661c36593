// The state of the broker, by subject. Handlers are functions on this state and have none of their own.

import type { TopicTable } from '../../protocol/index.ts'
import { Batches } from '../model/batches.ts'
import { Deadlines } from '../model/deadlines.ts'
import { everythingAllowed, type Permissions } from '../messages/identity.ts'
import { MemoryAccount } from '../model/memory-account.ts'
import type { ShardPlace } from '../model/peer-messages.ts'
import type { NamespaceSettings } from '../model/resolve-namespace.ts'
import type { PublishHook } from '../model/publish-hook.ts'
import type { RuleHook } from '../model/rule-hook.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { MatchRegex } from '../model/topic-rewrites.ts'
import type { NamespaceQuotas } from '../namespaces/namespace-quotas.ts'
import { TopicRouter } from '../topics/index.ts'
import { AccessState } from './access-state.ts'
import { BrokerCounters } from './broker-counts.ts'
import type { ClientFilters } from './client-filters.ts'
import { HookState } from './hooks/hook-state.ts'
import { OutputLists } from './output-lists.ts'
import { PeerTable } from './peers/peer-table.ts'
import type { Peer } from './peers/peer.ts'
import { PendingRequests } from './pending-requests.ts'
import { RetainedState } from './retained-state.ts'
import { RuleState } from './rule-state.ts'
import { canReceive, isHiddenBelowMountpoint } from './sessions/can-receive.ts'
import { SessionTable } from './sessions/session-table.ts'
import type { Session } from './sessions/session.ts'
import { SharedState } from './shared-state.ts'
import type { PublishAttempt } from './publish-attempt.ts'
import { StorageState } from './storage-state.ts'
import { StoredPayloads } from './stored-payloads.ts'
import { SubscriptionState } from './subscription-state.ts'
import { UniqueIds } from './unique-ids.ts'
import { WaitingConnections } from './waiting-connections.ts'
import { WillState } from './will-state.ts'

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
  readonly countRetainedOnPeers?: (() => number) | undefined
  /** The name with which bridges of this broker mark messages; undefined: it is not announced. */
  readonly brokerName?: string | undefined
  /** Undefined: the core creates an account of its own. */
  readonly memory?: MemoryAccount | undefined
  /** Undefined: no topic is rewritten. */
  readonly matchRegex?: MatchRegex | undefined
  /** Undefined: there are no rules. */
  readonly ruleHook?: RuleHook | undefined
  /** Undefined: there are no plugins. */
  readonly publishHook?: PublishHook | undefined
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

/** State that only bridges use. */
export interface BridgeState {
  /** The name with which bridges of this broker mark messages; undefined: it is not announced. */
  readonly brokerName: string | undefined
  /** Filters of clients, for bridges that need them; undefined: none does. */
  clientFilters: ClientFilters | undefined
}

/** Finds the subscribers and peers of a message. */
export type BrokerRouter = TopicRouter<Session, Peer>

/** Each part is the data of one subject. A function takes the parts that it uses: see `parts.ts`. */
export class BrokerState {
  settings: CoreSettings
  nowMs = 0
  isShuttingDown = false
  /** Clients connect to other brokers: see `drainClients`. */
  isDraining = false
  readonly topics: TopicTable
  /** Matches the expressions of `settings.topicRewrites`. */
  readonly matchRegex: MatchRegex
  readonly shard: ShardPlace
  readonly ids: UniqueIds
  readonly namespaces: NamespaceState
  readonly access: AccessState
  readonly sessions: SessionTable
  readonly router: BrokerRouter
  readonly subscriptions: SubscriptionState
  readonly shared = new SharedState()
  readonly retained: RetainedState
  readonly wills = new WillState()
  readonly waiting = new WaitingConnections()
  /** The last PUBLISH of this turn. It is released with the outputs, because it refers to a chunk, and by its topic to sessions. */
  attempt: PublishAttempt | undefined = undefined
  readonly bridges: BridgeState
  /** The other shards of the node. */
  readonly peers: PeerTable
  readonly deadlines = new Deadlines()
  /** Bytes held for clients, by use. */
  readonly memory: MemoryAccount
  readonly payloads: StoredPayloads
  readonly requests = new PendingRequests()
  readonly rules: RuleState
  readonly hooks: HookState
  readonly storage = new StorageState()
  readonly batches = new Batches(this)
  readonly counts: BrokerCounters
  readonly outputs = new OutputLists()

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
      {
        admits: (session, topic) => canReceive(this, session, topic),
        hides: isHiddenBelowMountpoint,
      },
      ({ number }) => shard.names?.isBefore(number, own) ?? number < own,
    )
    this.subscriptions = new SubscriptionState(this.memory)
    this.retained = new RetainedState(this.memory, options.countRetainedOnPeers)
    this.bridges = { brokerName: options.brokerName, clientFilters: undefined }
    this.peers = new PeerTable(shard)
    this.payloads = new StoredPayloads(shard)
    this.rules = new RuleState(options.ruleHook)
    this.hooks = new HookState(options.publishHook)
    const { triggers } = this.rules
    this.counts = new BrokerCounters(this, { events: this.outputs.events, triggers, maxEvents: options.maxDropEvents })
  }
}
