// All inputs of the core. The driver (a shard or the simulator) calls `handle` with one after the other; nothing else
// changes the state of the broker.

import type { Packet, ProtocolError, QoS, ReasonCode, TopicFilter } from '../../protocol/index.ts'
import type { StoredMessage, StoredRecord } from '../../records/index.ts'
import type { Identity } from '../messages/identity.ts'
import type { Connection } from './connection.ts'
import type { MessageProperties } from '../../protocol/index.ts'
import type { MemoryLevel } from './memory-account.ts'
import type { Message } from '../messages/message.ts'
import type { PeerMessage } from './peer-messages.ts'
import type { PeerNumber } from './peer-names.ts'
import type { PublishHookResult } from './publish-hook.ts'
import type { CountedTopic, MatchedRule, RulePublication } from './rule-hook.ts'
import type { RuleTrigger, RuleTriggerKind } from './rule-trigger.ts'
import type { CoreSettings } from './core-settings.ts'

/**
 * Identifies a request in the outputs; its response has the same ID. IDs are not reused until the restart of the shard.
 */
export type RequestId = number

export type Input =
  /** A client connected. The driver created `connection` with `new Connection(...)`. */
  | { readonly kind: 'connection-opened'; readonly connection: Connection }
  | { readonly kind: 'packet'; readonly connection: Connection; readonly packet: Packet }
  /** Bytes of an incomplete packet arrived. */
  | { readonly kind: 'packet-part'; readonly connection: Connection; readonly bytes: number }
  /** The decoder found an error in the client's data. */
  | { readonly kind: 'protocol-fault'; readonly connection: Connection; readonly error: ProtocolError }
  /** The stream has ended, on either side. Sent exactly once for each opened connection. */
  | { readonly kind: 'connection-closed'; readonly connection: Connection }
  /** The client has ended its direction of the stream, after everything that it sent. It may still read answers. */
  | { readonly kind: 'input-ended'; readonly connection: Connection }
  /** Response to `outputs.drains`: the input that had arrived is handled, or a limit was reached. */
  | { readonly kind: 'input-drained'; readonly connection: Connection }
  /** The listener of the connection was removed: its client gets DISCONNECT 0x8B, its session remains. */
  | { readonly kind: 'listener-closed'; readonly connection: Connection }
  /** Number of bytes in the driver that the client has not read. Replaces the core's own estimate. */
  | { readonly kind: 'unsent-bytes'; readonly connection: Connection; readonly bytes: number }
  /** Response to `authenticate` or `continue-authentication`. */
  | { readonly kind: 'authentication-result'; readonly requestId: RequestId; readonly decision: AuthenticationResult }
  /** Response to `publish-hooks`. */
  | { readonly kind: 'publish-hook-result'; readonly requestId: RequestId; readonly result: PublishHookResult }
  /** Response to `authorize`: `permissions` has the decision now. */
  | { readonly kind: 'permission-ready'; readonly requestId: RequestId }
  /**
   * `permissions.epoch` has grown: earlier decisions are checked again, and clients that are no longer allowed are
   * disconnected.
   */
  | { readonly kind: 'permissions-changed' }
  /** Batch `batch` and all earlier ones are durable. */
  | { readonly kind: 'committed'; readonly batch: number }
  /** The store fails, or works again. While it fails, nothing is acknowledged that must be stored. */
  | { readonly kind: 'storage-health'; readonly isHealthy: boolean }
  /** Response to `load-queue`: queued records of the session in order, and whether these are the last. */
  | {
      readonly kind: 'queue-loaded'
      readonly requestId: RequestId
      readonly records: readonly StoredRecord[]
      readonly isEnd: boolean
    }
  /**
   * Response to `load-message`; undefined if there is no such record, or if the store found it damaged and reported
   * that.
   */
  | {
      readonly kind: 'message-loaded'
      readonly requestId: RequestId
      readonly message: StoredMessage | undefined
    }
  /** At start, before any connection: records of all kinds except `queued` and `payload`, in any number of inputs. */
  | { readonly kind: 'restore'; readonly records: readonly StoredRecord[] }
  /** At start: range and number of the stored messages in the queue of a session. */
  | {
      readonly kind: 'restore-queue'
      readonly clientId: string
      readonly firstSequence: number
      readonly lastSequence: number
      readonly count: number
    }
  /** Reference counts of shared payloads that the background scan found; `isEnd` ends the scan. */
  | {
      readonly kind: 'payloads-counted'
      readonly counts: readonly (readonly [payloadId: number, references: number])[]
      readonly isEnd: boolean
    }
  /** Queued records of ended sessions were deleted, and with each its reference to a shared payload. */
  | { readonly kind: 'payloads-released'; readonly payloadIds: readonly number[] }
  /** A new link to another shard is open; nothing was sent on it yet. A local shard is known from now on: `ShardPlace.names` has its name. */
  | { readonly kind: 'peer-joined'; readonly peer: PeerNumber }
  /**
   * The link has ended because the other shard failed. `peer-joined` reports the return of a stored shard. A local shard has left for good: a later
   * `peer-joined` with this number is a new shard. What depends on the number of its filters and messages is done in slices, with ticks.
   */
  | { readonly kind: 'peer-left'; readonly peer: PeerNumber }
  | { readonly kind: 'peer-message'; readonly peer: PeerNumber; readonly message: PeerMessage }
  /** A plain message (`PeerSender.sendPlain`). Its bytes may be in a chunk that is used again. */
  | { readonly kind: 'plain-peer-message'; readonly peer: PeerNumber; readonly message: Message }
  /** The driver has too much unsent data for this peer, or no longer. */
  | { readonly kind: 'peer-congested'; readonly peer: PeerNumber; readonly isCongested: boolean }
  /** `findNextDeadlineMs` has passed, or there is remaining work (`view.hasMoreWork`). */
  | { readonly kind: 'tick' }
  /** A command of the HTTP API or of ctl. The output `command-done` has its result. */
  | { readonly kind: 'command'; readonly requestId: RequestId; readonly command: Command }
  /** The memory level of the node; repeated while memory is short, with the number of consecutive `hard` levels. */
  | { readonly kind: 'memory-level'; readonly level: MemoryLevel; readonly step: number }
  /** New settings, valid from now on. */
  | { readonly kind: 'settings'; readonly settings: CoreSettings }
  /** Starts or stops the collection of clients' filters: see `BrokerCore.clientFilters`. */
  | { readonly kind: 'client-filters'; readonly areWanted: boolean }
  /** Replaces the rules that topic filters lead to. */
  | {
      readonly kind: 'rules'
      readonly rules: readonly (readonly [filter: TopicFilter, rule: MatchedRule])[]
      /** Events other than messages that must be recorded for rules. */
      readonly triggers: ReadonlySet<RuleTriggerKind>
      /** By name; `rules` contains these topics too. Undefined: there are none. */
      readonly countedTopics?: ReadonlyMap<string, CountedTopic> | undefined
    }
  /** An event outside of the core for which rules may run: an alarm. */
  | { readonly kind: 'rule-trigger'; readonly trigger: RuleTrigger }
  /** The broker stops: open connections get DISCONNECT 0x8B and are closed; persistent sessions remain. */
  | { readonly kind: 'shutdown' }

export type AuthenticationResult =
  /** `authenticationData` is sent in CONNACK, or in the AUTH that completes a re-authentication. */
  | { readonly allowed: true; readonly identity?: Identity; readonly authenticationData?: Buffer }
  /** Enhanced authentication continues: the broker sends AUTH with 0x18 and this data [MQTT5-4.12.0-2]. */
  | { readonly allowed: 'not-yet'; readonly authenticationData: Buffer | undefined }
  /** `reasonString` is sent to the client; `cause` is for the log. */
  | { readonly allowed: false; readonly reason: ReasonCode; readonly reasonString?: string; readonly cause?: string }

/** Options of MQTT 5.0; absent: defaults. */
export interface SubscribeCommandOptions {
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  readonly retainHandling: 0 | 1 | 2
}

export type Command =
  | {
      readonly name: 'publish'
      readonly topic: string
      readonly payload: Buffer
      readonly qos: QoS
      readonly retain: boolean
      readonly properties: MessageProperties | undefined
      readonly clientId: string
      /** Further topics for the same message: all are published or none. */
      readonly furtherTopics?: readonly string[] | undefined
      /** The result contains delivery counts. */
      readonly wantsDeliveries?: boolean | undefined
      /** The broker publishes the message: nothing else can publish to topics below `$SYS/`. */
      readonly isOfBroker?: boolean | undefined
      /** Number of rules that have led to the message, if a fallback publishes it. */
      readonly ruleDepth?: number | undefined
      /** The plugin that publishes it, and the number of publications of plugins that have led to it, with this one. */
      readonly plugin?: { readonly name: string; readonly depth: number } | undefined
    }
  /** Stores the message in the session of that client, whatever it subscribes to. `further`: all are stored in one batch, or none is. */
  | {
      readonly name: 'store-in-action-queue'
      readonly clientId: string
      readonly publication: RulePublication
      readonly further?: readonly RulePublication[] | undefined
    }
  /**
   * Values that other modules keep across restarts: stored, or deleted if `value` is undefined. Done when all of them
   * are durable.
   */
  | {
      readonly name: 'keep-facts'
      readonly facts: readonly { readonly name: string; readonly value: string | undefined }[]
    }
  /** `endsSession`: the session ends as well, also if its client is not connected. */
  | { readonly name: 'kick'; readonly clientId: string; readonly endsSession?: boolean | undefined }
  /**
   * Refuses new clients, and disconnects up to `maxClients`; or, if `isDraining` is false, accepts clients again. `matched` of the result:
   * the clients that are still connected.
   */
  | { readonly name: 'drain'; readonly isDraining: boolean; readonly maxClients: number }
  /** Changes the keep alive of the client; 0: none. */
  | { readonly name: 'keep-alive'; readonly clientId: string; readonly seconds: number }
  /** Drops the cached permissions of the client. */
  | { readonly name: 'clear-authorization-cache'; readonly clientId: string }
  /** The filter as the client sends it, without its mount point. The same applies below. */
  | {
      readonly name: 'subscribe'
      readonly clientId: string
      readonly filter: TopicFilter
      readonly qos: QoS
      readonly options?: SubscribeCommandOptions | undefined
    }
  | { readonly name: 'unsubscribe'; readonly clientId: string; readonly filter: TopicFilter }
  /** Imports retained messages of this shard from a backup. Existing subscribers do not receive them. */
  | { readonly name: 'import-retained'; readonly messages: readonly StoredMessage[] }
  /** Disconnects clients, ends sessions and drops wills of the namespace. Nothing is published. */
  | { readonly name: 'end-sessions'; readonly namespace: string; readonly clientIds: readonly string[] }
  /** Deletes a delayed message before it is published. */
  | { readonly name: 'delete-delayed'; readonly id: string }
  /** Deletes the retained messages of topics of this shard. */
  | { readonly name: 'forget-retained'; readonly topics: readonly string[] }
