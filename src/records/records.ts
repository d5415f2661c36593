// Records that the core stores across restarts, as values. The module storage encodes them (with a version and a checksum
// each); the core knows neither keys nor files.
//
//   session 1 --- n subscription
//           1 --- n queued ----- 0..1 payload       (stored once for all sessions that have the message)
//           1 --- n outgoing                        (QoS 2 packet identifiers towards the client)
//           1 --- n incoming                        (QoS 2 packet identifiers from the client)
//           1 --- 0..1 will
//   retained: one for each topic
//   forwarded: one for each QoS 2 message that came from another shard and is not released
//   handoff: one for each message that goes from a member of a shared subscription to another shard
//   credentials, rules, bans: see access-records.ts; accounts of the API: admin-records.ts

import type { AccessRecord, AccessRecordKey } from './access-records.ts'
import type { AdminRecord, AdminRecordKey } from './admin-records.ts'
import type { MessageProperties, PacketId, ProtocolVersion, QoS, RetainHandling } from '../protocol/index.ts'

/** A message as it is stored, with its own copy of the payload. */
export interface StoredMessage {
  topic: string
  payload: Uint8Array
  qos: QoS
  retain: boolean
  properties: MessageProperties | undefined
  /** Client ID of the publisher; '' if it is not a client. */
  publisher: string
  /** Set for retained messages and wills, if known. */
  publisherUsername: string | undefined
  /**
   * The publisher was a superuser or had grants of its own, for example from its token. Access rules are not checked again when
   * the retained message or will is sent. The name is that of the field in archives.
   */
  isByOwnRight: boolean
  /** Mount point of the publisher: the part of `topic` that the publisher did not send. '': none, or the record is from an old version. */
  publisherMountpoint: string
  /** The message was received again after its shard failed: subscribers may have received it before. */
  isRepeat: boolean
  publishedAtMs: number
  /** Undefined: the message does not expire. */
  expiresAtMs: number | undefined
}

export interface SessionRecord {
  readonly kind: 'session'
  clientId: string
  version: ProtocolVersion
  username: string | undefined
  /** The last client was a superuser: all actions are allowed. */
  isSuperuser: boolean
  /** `Identity.principal` of its last client; undefined: not known, or written by a version that did not store it. */
  principal: string | undefined
  /** Mount point of the last client: the filters of its subscriptions begin with it. */
  mountpoint: string
  createdAtMs: number
  /** Time from the end of the connection to the end of the session. 0xFFFFFFFF: the session does not expire [MQTT5-3.1.2.11.2]. */
  expirySeconds: number
  /** Undefined while connected: after a crash such a session counts as disconnected at the restart. */
  disconnectedAtMs: number | undefined
  /**
   * No queued record has a lower sequence: reading starts here, after the deleted records. 0, with which no queue starts:
   * the session record was lost in damage and created again for its queue. Then CONNACK reports no session.
   */
  queueHead: number
  /**
   * Queued records with a lower sequence were sent before (DUP). Set when the client disconnects; while it is connected,
   * any record may have been sent.
   */
  sentBelow: number
  /** The client's Receive Maximum at its last connection. */
  receiveMaximum: number
}

export interface SubscriptionRecord {
  readonly kind: 'subscription'
  clientId: string
  filter: string
  qos: QoS
  noLocal: boolean
  retainAsPublished: boolean
  retainHandling: RetainHandling
  identifier: number | undefined
}

/** A message that waits for its client or for the client's acknowledgement. */
export interface QueuedRecord {
  readonly kind: 'queued'
  clientId: string
  /** Increases by one per message of the session: the order of delivery. */
  sequence: number
  /** The granted QoS: 1 or 2. */
  qos: QoS
  /** The retain flag to deliver with. */
  retain: boolean
  subscriptionIdentifiers: readonly number[] | undefined
  /** `$share/group/filter`: the shared subscription through which this session got the message. Undefined: none, or written by a version that did not store it. */
  sharedFilter: string | undefined
  /** The message itself, or the ID of its payload record. */
  message: StoredMessage | number
  /** Set on reading if the message came from a payload record: the ID of that record. Never written. */
  payloadId?: number
}

export interface PayloadRecord {
  readonly kind: 'payload'
  id: number
  message: StoredMessage
}

/**
 * A QoS 2 message in flight to the client. `sent`: PUBLISH may have been sent, and the queued record `sequence` exists.
 * `received`: PUBREC arrived, the queued record is deleted, and PUBREL must be sent. `sent` with `abandonedSequence`: the message was
 * dropped after PUBLISH may have been sent; the packet identifier stays in use until the client acknowledges it.
 */
export interface OutgoingRecord {
  readonly kind: 'outgoing'
  clientId: string
  packetId: PacketId
  sequence: number
  stage: 'sent' | 'received'
}

/** A sequence that no queued record has: the first one is 1. */
export const abandonedSequence = 0

/** Value of `ShardAssignment.filter` for the subscribers of a shard that have no shared subscription. */
export const otherSubscribers = ''

/** The shard to which a message was assigned, for one of its shared subscriptions or for its other subscribers. */
export interface ShardAssignment {
  /** `$share/group/filter`, or `otherSubscribers`. */
  filter: string
  /** Number of the shard; the number of this shard if one of its members received the message. */
  to: number
}

/** The clients that shard `shard` had when the node had `of` shards. Client IDs decide it, so it names the same clients for ever. */
export interface FormerShard {
  readonly shard: number
  readonly of: number
}

/** The receivers that a message still needs: it was delivered in part before `node.shards` changed. */
export interface RemainingReceivers {
  /** Only subscribers of these shards; undefined: of all. */
  readonly subscribersOf: readonly FormerShard[] | undefined
  /** The subscribers of these shards have the message, and so have the retained messages of these shards. */
  readonly doneOn: readonly FormerShard[]
  /** Only these shared subscriptions (`$share/group/filter`); undefined: all. */
  readonly groups: readonly string[] | undefined
  /** These shared subscriptions have the message. */
  readonly doneGroups: readonly string[]
  /** The shard that stores this has delivered the message since `node.shards` changed: only other shards may need it. */
  readonly isDoneHere: boolean
}

/** A QoS 2 packet identifier that the client has not released: a PUBLISH with the same one is the same message [MQTT-4.3.3-2]. */
export interface IncomingRecord {
  readonly kind: 'incoming'
  clientId: string
  packetId: PacketId
  /**
   * The shards to which the message was assigned, so that a duplicate goes to the same ones. Undefined: written by a version that did
   * not store them.
   */
  assignments: readonly ShardAssignment[] | undefined
  /** Undefined: `node.shards` has not changed since the message was published. */
  remaining?: RemainingReceivers | undefined
  /**
   * True: other shards had the message when the node failed, and the shard of its publisher had not. A PUBLISH with this packet
   * identifier is accepted as a new one, for the remaining receivers.
   */
  isPartial?: boolean | undefined
}

/**
 * A QoS 2 message from a client of another shard that this shard has processed; the record was stored in the same batch. A duplicate is
 * ignored until the client releases the packet identifier. One exception: if a shared subscription had no member here, the
 * message was sent to another shard, and a duplicate is sent to the same shard.
 */
export interface ForwardedRecord {
  readonly kind: 'forwarded'
  /** Number of the shard that stores this record. */
  shard: number
  /** Name of the publisher's session on its shard; for a message without a session, a name that only this message has. */
  publisher: string
  packetId: PacketId
  /** See `IncomingRecord`. */
  assignments: readonly ShardAssignment[] | undefined
}

/**
 * A message of a shared subscription that a persistent session gives to a member on another shard. It is in no queue until
 * that shard has stored it.
 */
export interface HandoffRecord {
  readonly kind: 'handoff'
  /** Number of the shard that stores this record. */
  shard: number
  /** Name of this message, unique over all restarts of the broker. */
  name: string
  /** Number of the shard that gets the message. */
  to: number
  /** `$share/group/filter`. */
  filter: string
  message: StoredMessage
}

export interface RetainedRecord {
  readonly kind: 'retained'
  message: StoredMessage
}

export interface WillRecord {
  readonly kind: 'will'
  clientId: string
  message: StoredMessage
  delaySeconds: number
  /** Time of publication; undefined while the client is connected. */
  dueAtMs: number | undefined
  /** For a will that was published: see `IncomingRecord`. */
  remaining?: RemainingReceivers | undefined
}

/** A named value of the whole broker: the name of the node, the last persisted time, ... */
export interface FactRecord {
  readonly kind: 'fact'
  name: string
  value: string
}

export type StoredRecord =
  | SessionRecord
  | SubscriptionRecord
  | QueuedRecord
  | PayloadRecord
  | OutgoingRecord
  | IncomingRecord
  | ForwardedRecord
  | HandoffRecord
  | RetainedRecord
  | WillRecord
  | FactRecord
  | AccessRecord
  | AdminRecord

export type RecordKind = StoredRecord['kind']

/** Identifies a record, for example to delete it. */
export type RecordKey =
  | { readonly kind: 'session' | 'will'; clientId: string }
  | { readonly kind: 'subscription'; clientId: string; filter: string }
  | { readonly kind: 'queued'; clientId: string; sequence: number }
  | { readonly kind: 'payload'; id: number }
  | { readonly kind: 'outgoing' | 'incoming'; clientId: string; packetId: PacketId }
  | { readonly kind: 'forwarded'; shard: number; publisher: string; packetId: PacketId }
  | { readonly kind: 'handoff'; shard: number; name: string }
  | { readonly kind: 'retained'; topic: string }
  | { readonly kind: 'fact'; name: string }
  | AccessRecordKey
  | AdminRecordKey

/**
 * A change of the store. `put` inserts or replaces a record, `delete` deletes one, `delete-session` deletes a session with all its
 * records. `rename-session` gives the session of `clientId` and all its records to client ID `to`, which must have no session.
 */
export type StoredChange =
  | { readonly change: 'put'; readonly record: StoredRecord }
  | { readonly change: 'delete'; readonly key: RecordKey }
  | { readonly change: 'delete-session'; readonly clientId: string }
  | { readonly change: 'rename-session'; readonly clientId: string; readonly to: string }
