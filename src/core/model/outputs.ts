// The outputs of the core, in two lists by the time when they may be carried out:
//
//   sends                    may be sent at once
//   batch.changes            are written together; then
//   batch.sendsAfterCommit   may be sent, and the input `committed` reports batch.number
//
// Further outputs are requests, closed connections, and events for monitoring.

import type { ProtocolVersion, QoS, ReasonCode } from '../../protocol/index.ts'
import type { StoredChange } from '../../records/index.ts'
import type { Identity } from '../messages/identity.ts'
import type { Connection } from './connection.ts'
import type { DropReason } from './drop-reason.ts'
import type { Refused, RefusedPacket } from './packet-refusal.ts'
import type { Message } from '../messages/message.ts'
import type { RequestId } from './inputs.ts'
import type { HookedPublication } from './publish-hook.ts'
import type { PeerSendList } from './peer-send-list.ts'
import type { SendList } from './send-list.ts'

export interface Outputs {
  readonly sends: SendList
  readonly requests: CoreRequest[]
  readonly closes: Close[]
  /** Connections to pause or resume, in order. The last entry of a connection applies. */
  readonly readerChanges: ReaderChange[]
  /** Connections whose input that has arrived anywhere must be handled before the input `input-drained`, see `takeover-wait.ts`. */
  readonly drains: Connection[]
  readonly events: BrokerEvent[]
  /** Messages for the links to peers, in order. */
  readonly peerSends: PeerSendList
}

/**
 * Changes that are stored together. The driver takes a batch with `takeBatch` when the store is free; later turns add
 * to the next one. A batch without changes needs no write.
 */
export interface Batch {
  readonly number: number
  /** Undefined entries were cancelled: put and deleted before they were written. */
  readonly changes: (StoredChange | undefined)[]
  readonly sendsAfterCommit: SendList
  /** Time when the driver took it; 0 before. */
  takenAtMs: number
  /** Number of undefined entries. */
  cancelled: number
  /** Number of remaining changes that are messages which will soon be acknowledged, which cancels them. */
  deferred: number
  /** If only deferred changes remain, the batch may wait for acknowledgements until this time. */
  waitsUntilMs: number
}

/** Close the stream after everything sent to it was written. */
export interface Close {
  readonly connection: Connection
  /** Earlier packets may wait for this batch; 0: for none. */
  readonly afterBatch: number
}

export interface ReaderChange {
  readonly connection: Connection
  readonly isPaused: boolean
}

export type CoreRequest =
  | {
      readonly kind: 'authenticate'
      readonly requestId: RequestId
      readonly connection: Connection
      /** Name of the session, with the namespace of the client. */
      readonly clientId: string
      readonly username: string | undefined
      readonly password: Buffer | undefined
      readonly version: ProtocolVersion
      /** Enhanced authentication starts with CONNECT [MQTT5-4.12.0-1]; otherwise both are undefined. */
      readonly authenticationMethod: string | undefined
      readonly authenticationData: Buffer | undefined
    }
  /** AUTH from the client: the next step, or the start of a re-authentication. The response is `authentication-result`. */
  | {
      readonly kind: 'continue-authentication'
      readonly requestId: RequestId
      readonly connection: Connection
      /** Name of the session, with the namespace of the client. */
      readonly clientId: string
      readonly method: string
      readonly data: Buffer | undefined
      /** 0x19: a connected client re-authenticates. */
      readonly isReauthentication: boolean
    }
  /** `permissions` returned `unknown`. After the response `permission-ready` the same check is made again. */
  | {
      readonly kind: 'authorize'
      readonly requestId: RequestId
      readonly connection: Connection
      readonly identity: Identity
      readonly action: 'publish' | 'subscribe'
      /** A topic or a filter, as `permissions` was called. */
      readonly topic: string
      readonly qos: QoS
      readonly retain: boolean
    }
  /** Hooks of plugins decide about a message. The response is `publish-hook-result`. */
  | { readonly kind: 'publish-hooks'; readonly requestId: RequestId; readonly publication: HookedPublication }
  /**
   * Reads the session's queued records from `fromSequence` on, at most `limit`, with payloads resolved. Batches up to
   * `afterBatch` must be durable before the read starts.
   *
   * A queue is read in parts, and `part` counts them. No record is deleted between part 0 and later parts without
   * having been read, so later parts may be read from the snapshot of part 0 as long as that has records. Undefined if
   * the read is not part of such a series.
   */
  | {
      readonly kind: 'load-queue'
      readonly requestId: RequestId
      readonly clientId: string
      readonly fromSequence: number
      readonly limit: number
      readonly part: number | undefined
      readonly afterBatch: number
    }
  /** Reads one message whose record is durable. The response is `message-loaded`. */
  | { readonly kind: 'load-message'; readonly requestId: RequestId; readonly of: MessageRecordKey }

/** Key of the record of one message: a will or a retained message. */
export type MessageRecordKey =
  | { readonly kind: 'will'; readonly clientId: string }
  | { readonly kind: 'retained'; readonly topic: string }

/** For logs, counters and lists of the management API. The broker does not depend on them. */
/**
 * Why a session ended. `disconnected`: its expiry interval is 0, so it ends with its connection. `replaced`: the client connected with a new
 * session.
 */
export type SessionEndCause = 'disconnected' | 'expired' | 'replaced' | 'administrator'

export type BrokerEvent =
  /** CONNECT named a client ID whose session belongs to another identity. `client-refused` follows. */
  | {
      readonly event: 'client-id-refused'
      readonly connection: Connection
      readonly clientId: string
      readonly owner: Identity
      readonly identity: Identity
    }
  | {
      readonly event: 'client-connected'
      readonly connection: Connection
      readonly clientId: string
      readonly sessionPresent: boolean
    }
  | {
      readonly event: 'client-refused'
      readonly connection: Connection
      /** Empty if the client was refused before its CONNECT was decoded. */
      readonly clientId: string
      readonly username: string | undefined
      readonly reason: ReasonCode
      /** Sent to a 5.0 client. */
      readonly text: string
      /** For the log only; undefined if `text` is complete. */
      readonly cause: string | undefined
    }
  | {
      readonly event: 'client-disconnected'
      readonly connection: Connection
      readonly clientId: string
      readonly reason: ReasonCode
      readonly text: string
    }
  /** The client was silent for longer than its keep alive, but not long enough to be disconnected. */
  | { readonly event: 'keep-alive-gap'; readonly connection: Connection; readonly clientId: string }
  | { readonly event: 'session-taken-over'; readonly clientId: string }
  | { readonly event: 'session-ended'; readonly clientId: string; readonly cause: SessionEndCause }
  /**
   * A read of the queue skipped records that are on disk. They were read again, so nothing is lost, but the read has a
   * defect.
   */
  | { readonly event: 'queue-records-skipped'; readonly clientId: string; readonly fromSequence: number }
  | { readonly event: 'subscribed'; readonly clientId: string; readonly filter: string; readonly qos: QoS }
  | { readonly event: 'unsubscribed'; readonly clientId: string; readonly filter: string }
  | {
      readonly event: 'message-dropped'
      readonly clientId: string
      readonly message: Message
      readonly reason: DropReason
      /** Name of the plugin that dropped it. */
      readonly plugin?: string | undefined
    }
  /** A packet of an accepted client was refused. `topic` is a topic or filter, or empty. */
  | ({
      readonly event: 'packet-refused'
      /** Name of the session. */
      readonly clientId: string
      readonly packet: RefusedPacket
      readonly topic: string
    } & Refused)
  | { readonly event: 'command-done'; readonly requestId: RequestId; readonly result: CommandResult }

export type CommandResult =
  /** All changes are durable, here and on peers. `deliveries` is set if it was requested. */
  | {
      readonly done: true
      readonly matched: number
      readonly deliveries?: DeliveryCounts
      /** Result of `import-retained`. */
      readonly kept?: ImportedMessages
    }
  | { readonly done: false; readonly why: CommandFailure }

export type CommandFailure =
  | 'no-such-client'
  | 'invalid-topic'
  | 'storage-failing'
  | 'not-allowed'
  /** Larger than mqtt.max_packet_size. */
  | 'too-large'
  /** The queue of a matching persistent session is full. */
  | 'receiver-full'
  /** The queue for a peer is full, or the peer has not sent its filters yet. */
  | 'shard-behind'
  /** The feature is disabled in the settings. */
  | 'not-available'
  | 'quota-exceeded'

/** Results of an import of retained messages. */
export interface ImportedMessages {
  /** The topic had no retained message. */
  inserted: number
  /** The topic had another one. */
  updated: number
  /** The topic has the same one already. */
  unchanged: number
  /** The message is expired. */
  expired: number
  /** A limit is reached, the message is too large, or retained messages are disabled. */
  refused: number
  /** The first topics of messages that were refused or that replaced others. */
  readonly refusedTopics: string[]
  readonly updatedTopics: string[]
}

/** Deliveries of a publication to sessions of the shard on which it was published, and to shared subscriptions. */
export interface DeliveryCounts {
  matched: number
  /** Sent to the client. */
  sent: number
  /** Queued until the client is connected or its in-flight window has space. */
  queued: number
  /** Dropped, or the oldest dropped instead when a queue is full. */
  dropped: number
  /** The rest of `matched`, which had QoS 0 and no client. */
  missed: number
  /** Sent to members of shared subscriptions on other shards: first of connected clients, then queued ones. */
  sentToShared: number
  queuedForShared: number
}
