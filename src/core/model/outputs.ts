// What the broker wants done, in two lists by when it may be done:
//
//   sends               may leave at once
//   batch.changes       to the disk, together; then
//   batch.sendsAfterCommit   may leave, and `committed(batch.number)` is said
//
// and beside them questions, closings, and events for those who watch.

import type { ProtocolVersion, QoS, ReasonCode } from '../../protocol/index.ts'
import type { StoredChange } from '../../records/index.ts'
import type { Identity } from './identity.ts'
import type { Connection } from './connection.ts'
import type { DropReason } from './drop-reason.ts'
import type { Message } from './message.ts'
import type { RequestId } from './inputs.ts'
import type { PeerSendList } from './peer-send-list.ts'
import type { SendList } from './send-list.ts'

export interface Outputs {
  readonly sends: SendList
  readonly requests: CoreRequest[]
  readonly closes: Close[]
  /** Readers to stop and to let go on, in order; the last word for a connection holds. */
  readonly readScheduler: ReaderChange[]
  readonly events: BrokerEvent[]
  /** For the links to other shards, in order. */
  readonly peerSends: PeerSendList
}

/**
 * What is to be stored together. Taken with `takeBatch` when the disk is free; turns that happen meanwhile gather into
 * the next. One without changes needs no disk.
 */
export interface Batch {
  readonly number: number
  /** A hole is a change that was struck: put and taken away before it was written. */
  readonly changes: (StoredChange | undefined)[]
  readonly sendsAfterCommit: SendList
  /** When the driver took it; 0: it has not. */
  takenAtMs: number
  /** How many holes there are. */
  cancelled: number
  /** Of the changes that are left: messages that a near client is about to acknowledge, which strikes them. */
  deferred: number
  /** Where nothing else is left: till then it may wait for that. */
  waitsUntilMs: number
}

/** Close the stream once what was sent to it has left. */
export interface Close {
  readonly connection: Connection
  /** What is to be sent before may wait for this batch; 0: for none. */
  readonly afterBatch: number
}

export interface ReaderChange {
  readonly connection: Connection
  readonly isPaused: boolean
}

export type CoreRequest =
  | {
      readonly kind: 'may-connect'
      readonly question: RequestId
      readonly connection: Connection
      /** The name of its session: with the namespace that the client belongs to. */
      readonly clientId: string
      readonly username: string | undefined
      readonly password: Buffer | undefined
      readonly version: ProtocolVersion
      /** Enhanced authentication begins with CONNECT [MQTT5-4.12.0-1]; both undefined where it does not. */
      readonly authenticationMethod: string | undefined
      readonly authenticationData: Buffer | undefined
    }
  /** AUTH from the client: a further step, or the first of a re-authentication. Answered by `connect-verdict`. */
  | {
      readonly kind: 'authenticate'
      readonly question: RequestId
      readonly connection: Connection
      /** As above. */
      readonly clientId: string
      readonly method: string
      readonly data: Buffer | undefined
      /** 0x19: the client is in and shows again who it is. */
      readonly isReauthentication: boolean
    }
  /** `permissions` has said `ask`. The same is asked of it again when this is answered, by `permission-ready`. */
  | {
      readonly kind: 'may-do'
      readonly question: RequestId
      readonly connection: Connection
      readonly identity: Identity
      readonly action: 'publish' | 'subscribe'
      /** A topic or a filter, as `permissions` was asked. */
      readonly topic: string
      readonly qos: QoS
      readonly retain: boolean
    }
  /**
   * Read the session's queued records from `fromSequence` on, at most `limit`, with bodies resolved. Batches up to
   * `afterBatch` must be on disk before the reading begins.
   *
   * A queue is read in parts, and `part` counts them: of part 1 and those that follow it is certain that no record has
   * been deleted since part 0 was asked for without having been read, so these may be read as of an earlier moment as
   * long as that has any. Undefined: this is no part of such a reading.
   */
  | {
      readonly kind: 'load-queue'
      readonly question: RequestId
      readonly clientId: string
      readonly fromSequence: number
      readonly limit: number
      readonly part: number | undefined
      readonly afterBatch: number
    }
  /** Read one message, whose record is durable. Answered by `message-loaded`. */
  | { readonly kind: 'load-message'; readonly question: RequestId; readonly of: MessageRecordKey }

/** The record of one message: a will or a retained message. */
export type MessageRecordKey =
  | { readonly kind: 'will'; readonly clientId: string }
  | { readonly kind: 'retained'; readonly topic: string }

/** For logs, counters and the ledgers of the management API. Nothing in the broker depends on them. */
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
      /** Empty: the client was refused before its CONNECT was understood. */
      readonly clientId: string
      readonly username: string | undefined
      readonly reason: ReasonCode
      /** Sent to a 5.0 client. */
      readonly text: string
      /** For the log only; undefined: `text` says it all. */
      readonly cause: string | undefined
    }
  | {
      readonly event: 'client-disconnected'
      readonly connection: Connection
      readonly clientId: string
      readonly reason: ReasonCode
      readonly text: string
    }
  /** Silent for longer than it said, but not for so long that it is given up. */
  | { readonly event: 'keep-alive-gap'; readonly connection: Connection; readonly clientId: string }
  | { readonly event: 'session-taken-over'; readonly clientId: string }
  | { readonly event: 'session-ended'; readonly clientId: string }
  /** A reading of its queue left out records that are on disk. They have been read again: nothing is lost, but a reader is wrong. */
  | { readonly event: 'queue-records-skipped'; readonly clientId: string; readonly fromSequence: number }
  | { readonly event: 'subscribed'; readonly clientId: string; readonly filter: string; readonly qos: QoS }
  | { readonly event: 'unsubscribed'; readonly clientId: string; readonly filter: string }
  | {
      readonly event: 'message-dropped'
      readonly clientId: string
      readonly message: Message
      readonly reason: DropReason
    }
  | { readonly event: 'command-done'; readonly question: RequestId; readonly result: CommandResult }

export type CommandResult =
  /** What it stands for is on disk, here and on other shards. `deliveries`: where they were asked for. */
  | {
      readonly done: true
      readonly matched: number
      readonly deliveries?: DeliveryCounts
      /** Of `keep-retained`. */
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
  /** A stored session that is to have it holds as many messages as it may. */
  | 'receiver-full'
  /** Another shard that is to have it takes no more for now, or has not said yet what it wants. */
  | 'shard-behind'
  /** A setting says that there is no such thing here. */
  | 'not-available'
  | 'quota-exceeded'

/** What became of messages that topics were to remember. */
export interface ImportedMessages {
  /** The topic had none. */
  inserted: number
  /** The topic had another one. */
  updated: number
  /** The topic has it already. */
  unchanged: number
  /** It is over. */
  expired: number
  /** There is no room for it, or it is too large, or nothing may be retained here. */
  refused: number
  /** Of those that were refused or whose topics had others, the first ones. */
  readonly refusedTopics: string[]
  readonly updatedTopics: string[]
}

/** What became of a publication among the sessions of the shard that it was published on, but for the last part. */
export interface DeliveryCounts {
  matched: number
  /** On its way to its client. */
  sent: number
  /** Waiting for the client, or for room in its window. */
  queued: number
  /** Given up; where the oldest goes when a queue is full, that one counts. The rest of `matched` had QoS 0 and no client. */
  dropped: number
  /** Given to members of shared subscriptions on other shards: the client is there; it is not, and it waits. */
  sentToShared: number
  queuedForShared: number
}
