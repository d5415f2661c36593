// What the broker remembers of one client, connected or not. Most sessions are small (one subscription, nothing in
// flight), so everything that few need is undefined until it is used.
//
// The queue of a stored session, by sequence:
//
//   | acknowledged | in flight (outgoing) | waiting in memory (pending) | on disk only        |
//   0           queueHead                                            diskFrom          nextSequence

import type { PacketId, ProtocolVersion, TopicFilter } from '../../../protocol/index.ts'
import type { Identity } from '../../model/identity.ts'
import { isBridgeClient, largestBridgePacketId, type SpoolLimits } from '../../model/bridge-client-id.ts'
import type { Connection } from '../../model/connection.ts'
import type { RequestId } from '../../model/inputs.ts'
import type { DropReason } from '../../model/drop-reason.ts'
import type { SharedGroup, SubscriptionOptions } from '../../topics/index.ts'
import type { AckLatency } from './ack-latency.ts'
import type { Delivery } from './delivery.ts'
import type { ForwardedPacketIds } from './forwarded-packet-ids.ts'
import { InflightWindow } from './inflight-window.ts'
import { PacketIdSet } from './packet-id-set.ts'
import { PendingQueue } from './pending-queue.ts'
import type { RetainedReplayQueue } from './retained-replay-queue.ts'
import type { SubscriptionUsage } from './subscription-usage.ts'
import type { SessionWill } from './session-will.ts'

/** [MQTT5-3.1.2.11.2] A session with this expiry never ends by itself. */
export const neverExpires = 0xffffffff

export type SessionDelivery = Delivery<SharedGroup<Session>>

/** The part of a session's queue that outlives the process. */
export interface PersistentQueue {
  /** The lowest sequence that may still have a record. */
  head: number
  /** Since the session's record was written, which says where the queue begins. */
  deletedSinceRecord: number
  nextSequence: number
  /** From here to `nextSequence` records are on disk only. */
  diskFrom: number
  /** Records that are there now. */
  count: number
  /** Something in it may have come from a shared subscription. */
  mayHoldShared: boolean
  /** Other shards know that there is no room for more. */
  isFullAnnounced: boolean
  /** The question under way that brings more of it into memory. */
  readRequest: RequestId | undefined
  /** Of what is on disk, one after the other, and none of it has gone from there meanwhile unread. */
  partNumber: number
  /** Records with lower sequences may have gone from disk before those in front of them. */
  gapsBelow: number
  /** A part of it lacked a record. The next part is read for itself, and shows whether the record is there. */
  isReadAgain: boolean
  /** Records below are on disk, as far as is known; and those below the mark's sequence when its batch is. */
  writtenUpTo: number
  mark: { readonly sequence: number; readonly batch: number } | undefined
  /**
   * What has come last, kept while all before it is read: else it would have to be read as well, and by then there would
   * be more. Undefined: it is on disk alone.
   */
  tailInMemory: SessionDelivery[] | undefined
  /** Records below may have been sent before a restart. */
  sentBelow: number
  /**
   * The broker ended while the client was there. Then any record may have been sent, and even acknowledged: what says
   * so may have been lost with the last batches.
   */
  readonly wasConnectedInCrash: boolean
  /** After a restart: packet ids of QoS 2 deliveries by the sequence of their queued record. */
  packetIds: Map<number, PacketId> | undefined
  /** Payload IDs by sequence, of deliveries that keep their packet identifier while their message is on disk only. */
  payloadsOnDisk: Map<number, number> | undefined
  /** Packet identifiers of a bridge with PUBREC, whose records stay until PUBCOMP. */
  receivedIds: Map<number, PacketId> | undefined
  /** Of a bridge: what had PUBCOMP before its record was read. The reading may be under way. */
  completed: Set<number> | undefined
  /** Of a bridge: the question under way for its oldest messages, of which some are to go. */
  oldestRequest: RequestId | undefined
  /** Nothing that is on disk only and not under way has a lower sequence. */
  trimmedTo: number
}

export class Session {
  readonly clientId: string
  readonly createdAtMs: number
  /** In the table of sessions; -1: it is not there. */
  place: number
  version: ProtocolVersion
  /** Whom it speaks for. */
  identity: Identity
  /** It is what a record says of its last client, which knows neither address nor grants. */
  identityIsFromDisk: boolean
  /** Before the topics of its client, '' where nothing is: see `mountpoint.ts`. */
  mountpoint: string
  expirySeconds: number
  connection: Connection | undefined
  /** Meaningful while `connection` is undefined. */
  disconnectedAtMs: number
  /** The last time; undefined: not in this life of the broker. */
  connectedAtMs: number | undefined
  /** What its last client was told or has asked for; 0: none, or nobody knows any more. */
  keepAliveSeconds: number
  subscriptions: Map<TopicFilter, SubscriptionOptions> | undefined
  /** Of `subscriptions`; undefined while they are too few to reach a limit. */
  subscriptionUsage: SubscriptionUsage | undefined
  outgoing: InflightWindow<SessionDelivery> | undefined
  pending: PendingQueue<SessionDelivery> | undefined
  /** In flight since an earlier connection and still to be sent again: the client takes fewer at once than it did. */
  postponed: PendingQueue<SessionDelivery> | undefined
  /** Deliveries in flight at most: the client's Receive Maximum or our own limit. */
  windowLimit: number
  /** QoS 2 packet ids that the client has not released, with the time at which each came. */
  incoming: PacketIdSet | undefined
  will: SessionWill | undefined
  /** When the will of a client that is gone is due; Infinity where none is. */
  willDueAtMs: number
  /** Undefined: there are none. */
  retainedReplays: RetainedReplayQueue | undefined
  /** Topics that it was given live messages of, which they remember, since it waits for what others remember. */
  liveTopics: Set<string> | undefined
  /** Undefined where nothing of this session is stored. */
  stored: PersistentQueue | undefined
  /** What other shards have to do with the QoS 2 messages of the client; undefined: nothing. */
  forwardedPacketIds: ForwardedPacketIds | undefined
  /** The name of a session that is not stored on other shards; undefined until one needs it. */
  peerName: string | undefined
  /** Its present time without a client, if it has passed something on to other shards since that began. */
  absence: object | undefined
  /** It has come back from the disk in this life of the broker. */
  isRestored: boolean
  /** Its record was lost in damage and made anew for the sake of its queue; its client has not come since. */
  isRecovered: boolean
  /**
   * Of a bridge, from its first connection on: its own limit in place of `maxStoredMessages`, and what becomes of one
   * message more. Its QoS 2 messages are kept whole until PUBCOMP: the broker behind it may forget what it has taken.
   */
  spool: SpoolLimits | undefined
  /** Of a bridge: how quickly what it brings away is acknowledged; undefined: its messages go to the disk at once. */
  ackLatency: AckLatency | undefined
  /** Of deliveries in memory, in flight or waiting: see `../delivery/held-bytes.ts`. */
  heldBytes: number
  isRetryScheduled: boolean
  /** No packet identifier in `incoming` is older than mqtt.await_rel_timeout before this time. */
  unreleasedExpireAtMs: number
  cleanStart: boolean
  /** PUBLISH packets from the client in all its connections. */
  receivedMessages: number
  /** PUBLISH packets to the client in all its connections, those that were sent again left out. */
  sentMessages: number
  /** Messages that were for the client and did not go to it. */
  droppedMessages: number
  /** The same by reason, of bridges. */
  drops: Map<DropReason, number> | undefined

  constructor(clientId: string, createdAtMs: number, identity: Identity) {
    this.clientId = clientId
    this.createdAtMs = createdAtMs
    this.place = -1
    this.version = 4
    this.identity = identity
    this.identityIsFromDisk = false
    this.mountpoint = ''
    this.expirySeconds = 0
    this.connection = undefined
    this.disconnectedAtMs = 0
    this.connectedAtMs = undefined
    this.keepAliveSeconds = 0
    this.subscriptions = undefined
    this.subscriptionUsage = undefined
    this.outgoing = undefined
    this.pending = undefined
    this.postponed = undefined
    this.windowLimit = 0
    this.incoming = undefined
    this.will = undefined
    this.willDueAtMs = Infinity
    this.retainedReplays = undefined
    this.liveTopics = undefined
    this.stored = undefined
    this.forwardedPacketIds = undefined
    this.peerName = undefined
    this.absence = undefined
    this.isRestored = false
    this.isRecovered = false
    this.spool = undefined
    this.ackLatency = undefined
    this.heldBytes = 0
    this.isRetryScheduled = false
    this.unreleasedExpireAtMs = 0
    this.cleanStart = true
    this.receivedMessages = 0
    this.sentMessages = 0
    this.droppedMessages = 0
    this.drops = undefined
  }

  get inflightCount(): number {
    return this.outgoing === undefined ? 0 : this.outgoing.count
  }

  get pendingCount(): number {
    return this.pending === undefined ? 0 : this.pending.length
  }

  /** Records that are on disk and not in memory. */
  get onDiskCount(): number {
    return this.stored === undefined ? 0 : this.stored.nextSequence - this.stored.diskFrom
  }

  window(): InflightWindow<SessionDelivery> {
    this.outgoing ??= new InflightWindow(isBridgeClient(this.clientId) ? largestBridgePacketId : undefined)
    return this.outgoing
  }

  unreleased(): PacketIdSet {
    this.incoming ??= new PacketIdSet()
    return this.incoming
  }

  queue(): PendingQueue<SessionDelivery> {
    this.pending ??= new PendingQueue()
    return this.pending
  }
}

export function newPersistentQueue(): PersistentQueue {
  return {
    head: 1,
    deletedSinceRecord: 0,
    nextSequence: 1,
    diskFrom: 1,
    count: 0,
    mayHoldShared: false,
    isFullAnnounced: false,
    readRequest: undefined,
    partNumber: 0,
    gapsBelow: 0,
    isReadAgain: false,
    writtenUpTo: 0,
    mark: undefined,
    tailInMemory: undefined,
    sentBelow: 1,
    wasConnectedInCrash: false,
    packetIds: undefined,
    payloadsOnDisk: undefined,
    receivedIds: undefined,
    completed: undefined,
    oldestRequest: undefined,
    trimmedTo: 0,
  }
}
