// The state of one client, connected or not. Most sessions are small (one subscription, nothing in flight), so fields that few
// need are undefined until they are used.
//
// The queue of a persistent session, by sequence number:
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

/** [MQTT5-3.1.2.11.2] A session with this value does not expire. */
export const neverExpires = 0xffffffff

export type SessionDelivery = Delivery<SharedGroup<Session>>

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
  /** A message may be of a shared subscription. */
  mayHoldShared: boolean
  /** The peers know that the queue is full. */
  isFullAnnounced: boolean
  /** The pending request for messages from disk. */
  readRequest: RequestId | undefined
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
  /** Of a bridge: deliveries with PUBCOMP before their record was read. The read may be in progress. */
  completed: Set<number> | undefined
  /** Of a bridge: the pending request for its oldest messages, of which some are dropped. */
  oldestRequest: RequestId | undefined
  /** All messages with lower sequence numbers are in memory or in flight. */
  trimmedTo: number
}

export class Session {
  readonly clientId: string
  readonly createdAtMs: number
  /** In the session table; -1: not present. */
  place: number
  version: ProtocolVersion
  /** Identity of its client. */
  identity: Identity
  /** The identity comes from a record, without address and grants. */
  identityIsFromDisk: boolean
  /** Prefix of its client's topics, '' if there is none: see `mountpoint.ts`. */
  mountpoint: string
  expirySeconds: number
  connection: Connection | undefined
  /** Valid while `connection` is undefined. */
  disconnectedAtMs: number
  /** Time of the last CONNECT; undefined: not since the start of the broker. */
  connectedAtMs: number | undefined
  /** Keep alive of its last client; 0: none, or unknown. */
  keepAliveSeconds: number
  subscriptions: Map<TopicFilter, SubscriptionOptions> | undefined
  /** Counts `subscriptions`; undefined while they are too few to reach a limit. */
  subscriptionUsage: SubscriptionUsage | undefined
  outgoing: InflightWindow<SessionDelivery> | undefined
  pending: PendingQueue<SessionDelivery> | undefined
  /**
   * In flight since an earlier connection and still to be sent again, because the client's Receive Maximum is lower
   * now.
   */
  postponed: PendingQueue<SessionDelivery> | undefined
  /** Maximum deliveries in flight: the client's Receive Maximum or the broker's limit. */
  windowLimit: number
  /** The same, or 0 while the client is sent nothing: see `outgoing/deliveries-rate.ts`. */
  openWindow: number
  /** QoS 2 packet identifiers without PUBREL, with their time of arrival. */
  incoming: PacketIdSet | undefined
  will: SessionWill | undefined
  /** When the will of a disconnected client is due; Infinity if there is none. */
  willDueAtMs: number
  /** Undefined: there are none. */
  retainedReplays: RetainedReplayQueue | undefined
  /** Retained topics with a live delivery since the session waits for retained messages of peers. */
  liveTopics: Set<string> | undefined
  /** Undefined for a clean session. */
  stored: PersistentQueue | undefined
  /** QoS 2 messages of the client that peers know; undefined: none. */
  forwardedPacketIds: ForwardedPacketIds | undefined
  /** The name of a clean session for peers; undefined until it is needed. */
  peerName: string | undefined
  /** Identifies the current time without a client, if messages were copied to peers in it. */
  absence: object | undefined
  /** It was read from disk at the start of the broker. */
  isRestored: boolean
  /** Its record was damaged, so it was created from its queue; its client has not connected since. */
  isRecovered: boolean
  /**
   * Of a bridge, from its first connection on: its own limit instead of `maxStoredMessages`, and its policy. Its QoS 2
   * messages are complete until PUBCOMP, because the remote broker may lose what it accepted.
   */
  spool: SpoolLimits | undefined
  /** Of a bridge: how fast its messages are acknowledged; undefined: messages are written at once. */
  ackLatency: AckLatency | undefined
  /** Memory of deliveries, in flight or queued: see `../../outgoing/held-bytes.ts`. */
  heldBytes: number
  isRetryScheduled: boolean
  /** No packet identifier in `incoming` expires before this time. */
  unreleasedExpireAtMs: number
  cleanStart: boolean
  /** PUBLISH packets from the client on all its connections. */
  receivedMessages: number
  /** PUBLISH packets to the client on all its connections, without redeliveries. */
  sentMessages: number
  /** Messages for the client that were dropped. */
  droppedMessages: number
  /** Drops by reason, for bridges. */
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
    this.openWindow = 0
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

  /** Number of records on disk that are not in memory. */
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
