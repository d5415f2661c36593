// Everything that can happen to the broker. Whoever drives it (a shard, the simulator) calls `handle` with these, one
// after the other; nothing else changes the broker's state.

import type { Packet, ProtocolError, QoS, ReasonCode, TopicFilter } from '../../protocol/index.ts'
import type { StoredMessage, StoredRecord } from '../../records/index.ts'
import type { Identity } from './identity.ts'
import type { Connection } from './connection.ts'
import type { MessageProperties } from '../../protocol/index.ts'
import type { MemoryLevel } from './memory-account.ts'
import type { Message } from './message.ts'
import type { PeerMessage, PeerNumber } from './peer-messages.ts'
import type { MatchedRule, RulePublication } from './rule-hook.ts'
import type { RuleTrigger, RuleTriggerKind } from './rule-trigger.ts'
import type { CoreSettings } from './settings.ts'

/** Names a question among the outputs; its answer carries the same. Never used twice in one life of the broker. */
export type RequestId = number

export type Input =
  /** A client has arrived. `connection` was made by the driver with `new Connection(...)`. */
  | { readonly kind: 'connection-opened'; readonly connection: Connection }
  | { readonly kind: 'packet'; readonly connection: Connection; readonly packet: Packet }
  /** Bytes have come that are part of a packet and bring none to its end. */
  | { readonly kind: 'packet-part'; readonly connection: Connection; readonly bytes: number }
  /** The decoder gave up on what the client sent. */
  | { readonly kind: 'protocol-fault'; readonly connection: Connection; readonly error: ProtocolError }
  /** The stream has ended, whoever ended it. Said exactly once for each connection that was opened. */
  | { readonly kind: 'connection-closed'; readonly connection: Connection }
  /** The listener that it came through is no more: its client gets DISCONNECT 0x8B and is closed, its session stays. */
  | { readonly kind: 'listener-closed'; readonly connection: Connection }
  /** How many bytes wait in the driver for this client to read them. Replaces what the core had added up itself. */
  | { readonly kind: 'unsent-bytes'; readonly connection: Connection; readonly bytes: number }
  /** The answer to `may-connect` or `authenticate`. */
  | { readonly kind: 'connect-verdict'; readonly question: RequestId; readonly verdict: AuthenticationResult }
  /** The answer to `may-do`: `permissions` knows now. */
  | { readonly kind: 'permission-ready'; readonly question: RequestId }
  /** `permissions.epoch` has grown: what rests on older answers is looked at again, and who may not stay is sent away. */
  | { readonly kind: 'permissions-changed' }
  /** Batch `batch` (and all before it) is on disk. */
  | { readonly kind: 'committed'; readonly batch: number }
  /** The disk fails or serves again: while it fails nothing is promised that needs it. */
  | { readonly kind: 'storage-health'; readonly isHealthy: boolean }
  /** The answer to `load-queue`: the session's queued records in order, and whether none follow for certain. */
  | {
      readonly kind: 'queue-loaded'
      readonly question: RequestId
      readonly records: readonly StoredRecord[]
      readonly isEnd: boolean
    }
  /** The answer to `load-message`; undefined: there is no such record, or the store has found it damaged and said so. */
  | {
      readonly kind: 'message-loaded'
      readonly question: RequestId
      readonly message: StoredMessage | undefined
    }
  /** At the start, before any connection: records of all kinds but `queued` and `body`, any number of times. */
  | { readonly kind: 'restore'; readonly records: readonly StoredRecord[] }
  /** At the start: the queue of a session as it lies on disk. */
  | {
      readonly kind: 'restore-queue'
      readonly clientId: string
      readonly firstSequence: number
      readonly lastSequence: number
      readonly count: number
    }
  /** Counts that the sweep of shared bodies found: how many queued records refer to each. `isEnd` closes the sweep. */
  | {
      readonly kind: 'bodies-counted'
      readonly counts: readonly (readonly [bodyId: number, references: number])[]
      readonly isEnd: boolean
    }
  /** Queued records of ended sessions have gone, and with each its reference to a shared body. */
  | { readonly kind: 'bodies-released'; readonly bodyIds: readonly number[] }
  /** A link to another shard is there, and new: nothing has been said on it. */
  | { readonly kind: 'peer-joined'; readonly peer: PeerNumber }
  /** The link has broken: the shard at its other end has died. It comes back as `peer-joined`. */
  | { readonly kind: 'peer-left'; readonly peer: PeerNumber }
  | { readonly kind: 'peer-message'; readonly peer: PeerNumber; readonly message: PeerMessage }
  /** A plain message (`PeerLine.pass`). Its bytes may lie in a chunk. */
  | { readonly kind: 'peer-passes'; readonly peer: PeerNumber; readonly message: Message }
  /** Too much waits in the driver for this peer to take it, or no longer. */
  | { readonly kind: 'peer-congested'; readonly peer: PeerNumber; readonly isCongested: boolean }
  /** Time has passed `nextDeadlineMs`, or there is work left (`view.hasMoreWork`). */
  | { readonly kind: 'tick' }
  /** The operator (HTTP API, ctl) wants something. Answered among the outputs by `command-done`. */
  | { readonly kind: 'command'; readonly question: RequestId; readonly command: Command }
  /** How short the memory of the node is; told again while it is, with how often in a row it has been `hard`. */
  | { readonly kind: 'memory-level'; readonly level: MemoryLevel; readonly step: number }
  /** New limits, in force from here on. */
  | { readonly kind: 'settings'; readonly settings: CoreSettings }
  /** What clients are subscribed to is to be counted, or no longer: see `BrokerCore.clientFilters`. */
  | { readonly kind: 'client-filters'; readonly areWanted: boolean }
  /** Messages lead to these rules from here on, by their topic filters. */
  | {
      readonly kind: 'rules'
      readonly rules: readonly (readonly [filter: TopicFilter, rule: MatchedRule])[]
      /** What is to be recorded for rules beside messages. */
      readonly triggers: ReadonlySet<RuleTriggerKind>
    }
  /** Something has happened outside of the core that rules may run for: an alarm. */
  | { readonly kind: 'rule-trigger'; readonly trigger: RuleTrigger }
  /** The broker stops: open connections get DISCONNECT 0x8B and are closed, durable sessions are kept. */
  | { readonly kind: 'shutdown' }

export type AuthenticationResult =
  /** `authenticationData` goes into CONNACK, or into the AUTH that ends a re-authentication. */
  | { readonly allowed: true; readonly identity?: Identity; readonly authenticationData?: Buffer }
  /** Enhanced authentication goes on: AUTH with 0x18 and this [MQTT5-4.12.0-2]. */
  | { readonly allowed: 'not-yet'; readonly authenticationData: Buffer | undefined }
  /** `reasonString` is for the client, `cause` for the log of the broker. */
  | { readonly allowed: false; readonly reason: ReasonCode; readonly reasonString?: string; readonly cause?: string }

/** Of MQTT 5.0; absent: none is set. */
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
      /** The same to these topics as well: to all or to none. */
      readonly furtherTopics?: readonly string[] | undefined
      /** Says in the result what became of it. */
      readonly wantsDeliveries?: boolean | undefined
    }
  /** Stored in the session of that client, whatever it subscribes to. */
  | { readonly name: 'spool'; readonly clientId: string; readonly publication: RulePublication }
  /** What others than the core keep across restarts: put, or taken away where `value` is undefined. Done when all said so far is on disk. */
  | {
      readonly name: 'keep-facts'
      readonly facts: readonly { readonly name: string; readonly value: string | undefined }[]
    }
  /** `endsSession`: its session ends as well, and may be of a client that is not connected. */
  | { readonly name: 'kick'; readonly clientId: string; readonly endsSession?: boolean | undefined }
  /** From now on its client may be silent for so long; 0: for ever. */
  | { readonly name: 'keep-alive'; readonly clientId: string; readonly seconds: number }
  /** What it was told about publishing is asked again. */
  | { readonly name: 'forget-verdicts'; readonly clientId: string }
  /** The filter as the client would say it, without its mount point; so below. */
  | {
      readonly name: 'subscribe'
      readonly clientId: string
      readonly filter: TopicFilter
      readonly qos: QoS
      readonly options?: SubscribeCommandOptions | undefined
    }
  | { readonly name: 'unsubscribe'; readonly clientId: string; readonly filter: TopicFilter }
  /** What topics of this shard are to remember, from a backup: nobody who has subscribed already hears of it. */
  | { readonly name: 'keep-retained'; readonly messages: readonly StoredMessage[] }
  /** Clients are sent away, sessions end, and wills of the namespace are forgotten: nothing of it is published. */
  | { readonly name: 'end-sessions'; readonly namespace: string; readonly clientIds: readonly string[] }
  /** A delayed message is not to be published. */
  | { readonly name: 'delete-delayed'; readonly id: string }
  /** Topics of this shard are to remember nothing any more. */
  | { readonly name: 'forget-retained'; readonly topics: readonly string[] }
