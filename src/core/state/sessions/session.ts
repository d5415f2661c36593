// The state of one client, connected or not. Most sessions are small (one subscription, nothing in flight), so fields that few
// need are undefined until they are used.
//
// The queue of a persistent session, by sequence number:
//
//   | acknowledged | in flight (outgoing) | waiting in memory (pending) | on disk only        |
//   0           queueHead                                            diskFrom          nextSequence

import type { PacketId, ProtocolVersion, TopicFilter } from '../../../protocol/index.ts'
import type { Identity } from '../../messages/identity.ts'
import type { SpoolLimits } from '../../messages/internal-client-options.ts'
import type { Connection } from '../../model/connection.ts'
import type { RequestId } from '../../model/inputs.ts'
import type { DropReason } from '../../model/drop-reason.ts'
import type { SharedGroup, SubscriptionOptions } from '../../topics/index.ts'
import type { AckLatency } from './ack-latency.ts'
import type { Delivery } from './delivery.ts'
import { IncomingMessages } from './incoming-messages.ts'
import { OutgoingMessages } from './outgoing-messages.ts'
import type { RetainedReplayQueue } from './retained-replay-queue.ts'
import type { SubscriptionUsage } from './subscription-usage.ts'
import type { SessionWill } from './session-will.ts'

/** [MQTT5-3.1.2.11.2] A session with this value does not expire. */
export const neverExpires = 0xffffffff

export type SessionDelivery = Delivery<SharedGroup<Session>>

/** Progress of the reads of a queue from disk. */
export interface QueueReads {
  /** The pending request for messages from disk. */
  request: RequestId | undefined
  /** Number of the next part of a read from one snapshot: none of the later records was deleted without being read. */
  partNumber: number
  /** Records with lower sequence numbers may be deleted although earlier ones exist. */
  gapsBelow: number
  /**
   * A record was missing from a part. The next part is read without the snapshot, which shows whether the record
   * exists.
   */
  isReadAgain: boolean
  /** Records below are durable, as far as is known; so are those below the mark's sequence number when its batch is. */
  writtenUpTo: number
  mark: { readonly sequence: number; readonly batch: number } | undefined
  /**
   * The last messages, kept in memory while all earlier ones are read. Otherwise they would have to be read as well,
   * and by then there would be more. Undefined: they are on disk only.
   */
  tailInMemory: SessionDelivery[] | undefined
  /** For a bridge: the pending request for its oldest messages, some of which are then dropped. */
  oldestRequest: RequestId | undefined
  /** All messages with lower sequence numbers are in memory or in flight. */
  trimmedTo: number
}

/** The part of a session's queue that survives a restart. */
export interface PersistentQueue {
  /** The lowest sequence number that may have a record. */
  head: number
  /** Number of records deleted since the session record was written, which contains the start of the queue. */
  deletedSinceRecord: number
  nextSequence: number
  /** Records from here to `nextSequence` are on disk only. */
  diskFrom: number
  /** Number of existing records. */
  count: number
  /** True if the queue may contain messages of shared subscriptions. */
  canHoldShared: boolean
  /** True if the peers were notified that the queue is full. */
  isFullAnnounced: boolean
  readonly reads: QueueReads
  /** Records below may have been sent before a restart. */
  sentBelow: number
  /**
   * The broker ended while the client was connected. Any record may have been sent and even acknowledged: the records
   * of that may have been lost with the last batches.
   */
  readonly wasConnectedInCrash: boolean
  /** After a restart: packet identifiers of QoS 2 deliveries by the sequence number of their queued record. */
  packetIds: Map<number, PacketId> | undefined
  /** Payload IDs by sequence, of deliveries that keep their packet identifier while their message is on disk only. */
  payloadsOnDisk: Map<number, number> | undefined
  /** Packet identifiers of a bridge with PUBREC, whose records stay until PUBCOMP. */
  receivedIds: Map<number, PacketId> | undefined
  /** For a bridge: sequence numbers of deliveries whose PUBCOMP arrived before their record was read. The read may be in progress. */
  completed: Set<number> | undefined
}

/** Facts of the last CONNECT of a session. */
export interface LastConnect {
  version: ProtocolVersion
  /** Undefined: not since the start of the broker. */
  atMs: number | undefined
  /** 0: none, or unknown. */
  keepAliveSeconds: number
  cleanStart: boolean
}

/** A session that was read from disk at the start of the broker. */
export interface RestoredSession {
  /** The identity has no address and no grants, because the client has not connected since the start. */
  identityIsFromDisk: boolean
  /** The record of the session was damaged, so it was created from its queue. No client has connected since. */
  isRecovered: boolean
}

/** PUBLISH packets of a session on all its connections. */
export interface MessageCounts {
  received: number
  /** Without redeliveries. */
  sent: number
  /** Messages for the client that were dropped. */
  dropped: number
}

/** State that only sessions of internal clients have. */
export interface InternalSession {
  /**
   * From its first connection on: its own limit instead of `maxStoredMessages`, and its policy. Its QoS 2 messages are
   * complete until PUBCOMP, because the remote broker may lose what it accepted.
   */
  spool: SpoolLimits | undefined
  /** Time until messages are acknowledged; undefined: messages are written at once. */
  ackLatency: AckLatency | undefined
  /** Undefined: there are none. */
  drops: Map<DropReason, number> | undefined
}

export class Session {
  readonly clientId: string
  readonly createdAtMs: number
  /** In the session table; -1: not present. */
  place: number
  /** Identity of its client. */
  identity: Identity
  /** Prefix of its client's topics, '' if there is none: see `mountpoint.ts`. */
  mountpoint: string
  connection: Connection | undefined
  readonly lastConnect: LastConnect
  expirySeconds: number
  /** Valid while `connection` is undefined. */
  disconnectedAtMs: number
  /** Identifies the current time without a client, if messages were copied to peers in it. */
  absence: object | undefined
  /** Undefined: it began since the start of the broker. */
  restored: RestoredSession | undefined
  subscriptions: Map<TopicFilter, SubscriptionOptions> | undefined
  /** Counts `subscriptions`; undefined while they are too few to reach a limit. */
  subscriptionUsage: SubscriptionUsage | undefined
  /** Undefined: there are none. */
  retainedReplays: RetainedReplayQueue | undefined
  readonly outgoing: OutgoingMessages<SessionDelivery>
  readonly incoming: IncomingMessages
  /** Undefined for a clean session. */
  stored: PersistentQueue | undefined
  will: SessionWill | undefined
  /** Undefined for clients that are not internal. */
  internal: InternalSession | undefined
  readonly counts: MessageCounts

  constructor(clientId: string, createdAtMs: number, identity: Identity) {
    this.clientId = clientId
    this.createdAtMs = createdAtMs
    this.place = -1
    this.identity = identity
    this.mountpoint = ''
    this.connection = undefined
    this.lastConnect = { version: 4, atMs: undefined, keepAliveSeconds: 0, cleanStart: true }
    this.expirySeconds = 0
    this.disconnectedAtMs = 0
    this.absence = undefined
    this.restored = undefined
    this.subscriptions = undefined
    this.subscriptionUsage = undefined
    this.retainedReplays = undefined
    this.outgoing = new OutgoingMessages(clientId)
    this.incoming = new IncomingMessages()
    this.stored = undefined
    this.will = undefined
    this.internal = undefined
    this.counts = { received: 0, sent: 0, dropped: 0 }
  }

  /** Number of records on disk that are not in memory. */
  get onDiskCount(): number {
    return this.stored === undefined ? 0 : this.stored.nextSequence - this.stored.diskFrom
  }
}

export function createInternalSession(): InternalSession {
  return { spool: undefined, ackLatency: undefined, drops: undefined }
}

export function createPersistentQueue(): PersistentQueue {
  return {
    head: 1,
    deletedSinceRecord: 0,
    nextSequence: 1,
    diskFrom: 1,
    count: 0,
    canHoldShared: false,
    isFullAnnounced: false,
    reads: {
      request: undefined,
      partNumber: 0,
      gapsBelow: 0,
      isReadAgain: false,
      writtenUpTo: 0,
      mark: undefined,
      tailInMemory: undefined,
      oldestRequest: undefined,
      trimmedTo: 0,
    },
    sentBelow: 1,
    wasConnectedInCrash: false,
    packetIds: undefined,
    payloadsOnDisk: undefined,
    receivedIds: undefined,
    completed: undefined,
  }
}
