// Records that the core stores across restarts, as values. The module storage encodes them (with a version and a checksum
// each); the core knows neither keys nor files.
//
//   session 1 --- n subscription
//           1 --- n queued ----- 0..1 body          (a message for several durable sessions is stored once)
//           1 --- n outgoing                        (QoS 2 packet ids towards the client)
//           1 --- n incoming                        (QoS 2 packet ids from the client)
//           1 --- 0..1 will
//   retained: one for each topic
//   forwarded: one for each QoS 2 message that came from another shard and is not released
//   moving: one for each message that goes from a member of a shared subscription to another shard
//   credentials, rules, bans: see access-records.ts; accounts of the API: admin-records.ts

import type { AccessRecord, AccessRecordKey } from './access-records.ts'
import type { AdminRecord, AdminRecordKey } from './admin-records.ts'
import type { MessageProperties, PacketId, ProtocolVersion, QoS, RetainHandling } from '../protocol/index.ts'

/** A message as it is kept: with its own copy of the payload. */
export interface StoredMessage {
  topic: string
  payload: Uint8Array
  qos: QoS
  retain: boolean
  properties: MessageProperties | undefined
  /** The client id of the publisher, '' where it is not a client. */
  publisher: string
  /** Where it is known: of retained messages and wills. */
  publisherUsername: string | undefined
  /** Its publisher is a superuser, or had a right of its own. */
  isByOwnRight: boolean
  /** What stands before its topic and its publisher has not said; '' where there is none, and in records of old. */
  publisherMountpoint: string
  /** It came to its shard a second time, after that had died: it may have reached its readers before. */
  isRepeat: boolean
  publishedAtMs: number
  /** Undefined: never. */
  expiresAtMs: number | undefined
}

export interface SessionRecord {
  readonly kind: 'session'
  clientId: string
  version: ProtocolVersion
  username: string | undefined
  /** Nothing is denied to its last client. */
  isSuperuser: boolean
  /** `Identity.principal` of its last client; undefined: not known, or written by a version that did not store it. */
  principal: string | undefined
  /** Before the topics of its last client: its subscriptions have it in front. */
  mountpoint: string
  createdAtMs: number
  /** How long the session outlives its connection. 0xFFFFFFFF: for ever [MQTT5-3.1.2.11.2]. */
  expirySeconds: number
  /** Undefined while connected: after a crash such a session counts as disconnected at the restart. */
  disconnectedAtMs: number | undefined
  /**
   * No queued record has a lower sequence: reading starts here and not among what was deleted. 0, which no queue has: the
   * record was lost in damage and created again for its queue. CONNACK tells the client that there is no session.
   */
  queueHead: number
  /**
   * Queued records with a lower sequence have been sent before (DUP). Known once the client is gone; of those of a
   * client that is connected any may have been sent.
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
  /** Grows by one for each message of the session: the order of delivery. */
  sequence: number
  /** The granted QoS: 1 or 2. */
  qos: QoS
  /** The retain flag to deliver with. */
  retain: boolean
  subscriptionIdentifiers: readonly number[] | undefined
  /** `$share/group/filter`: the shared subscription that gave it to this session. Undefined: none; or written by a version that did not say so. */
  sharedFilter: string | undefined
  /** The message itself, or the id of the body record that holds it. */
  message: StoredMessage | number
  /** When read with its body put in place: the id of that body. Never written. */
  bodyId?: number
}

export interface BodyRecord {
  readonly kind: 'body'
  id: number
  message: StoredMessage
}

/**
 * A QoS 2 message on its way to the client. `sent`: PUBLISH may have left, the queued record `sequence` is still there.
 * `received`: PUBREC came, the queued record is gone, PUBREL is owed. `sent` with `abandonedSequence`: there is nothing to send
 * any more, and the client has not answered what may have left.
 */
export interface OutgoingRecord {
  readonly kind: 'outgoing'
  clientId: string
  packetId: PacketId
  sequence: number
  stage: 'sent' | 'received'
}

/** Queues begin with 1. */
export const abandonedSequence = 0

/** Instead of a filter: for the plain subscribers of a shard. */
export const forSubscribers = ''

/** Which shard a message was given to for one of its shared subscriptions, or for its plain subscribers. */
export interface RedistributedRecord {
  /** `$share/group/filter`, or `forSubscribers`. */
  filter: string
  /** By number; the one that keeps this, where a member there has it. */
  to: number
}

/** A QoS 2 packet id that the client has not released: the same id again is the same message [MQTT-4.3.3-2]. */
export interface IncomingRecord {
  readonly kind: 'incoming'
  clientId: string
  packetId: PacketId
  /** Of shared subscriptions with members on other shards, and of the shards with subscribers. Undefined: written by a version that did not say so. */
  dealt: readonly RedistributedRecord[] | undefined
}

/**
 * A QoS 2 message of a client of another shard was here and had its effect, which was stored with this: if it comes again,
 * it is passed over, until the client has released its packet id. Where no member of a shared subscription was left here
 * it went on to another shard, and goes on to the same one if it comes again.
 */
export interface ForwardedRecord {
  readonly kind: 'forwarded'
  /** The shard that keeps this. */
  shard: number
  /** The publisher's session, by the name that its shard gives it; or one message that is of no session. */
  publisher: string
  packetId: PacketId
  /** Undefined: written by a version that did not say so. */
  dealt: readonly RedistributedRecord[] | undefined
}

/**
 * A message of a shared subscription that a persistent session passes to a member on another shard: it is in no queue until
 * that shard stored it.
 */
export interface HandoffRecord {
  readonly kind: 'moving'
  /** The shard that keeps this. */
  shard: number
  /** Of this message alone, in all lives of the broker. */
  name: string
  /** The shard that it goes to. */
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
  /** When it is to be published; undefined while the client is connected. */
  dueAtMs: number | undefined
}

/** A fact of the whole broker by name: the node's name, the last persisted time, ... */
export interface FactRecord {
  readonly kind: 'fact'
  name: string
  value: string
}

export type StoredRecord =
  | SessionRecord
  | SubscriptionRecord
  | QueuedRecord
  | BodyRecord
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

/** What names a record: enough to delete it. */
export type RecordKey =
  | { readonly kind: 'session' | 'will'; clientId: string }
  | { readonly kind: 'subscription'; clientId: string; filter: string }
  | { readonly kind: 'queued'; clientId: string; sequence: number }
  | { readonly kind: 'body'; id: number }
  | { readonly kind: 'outgoing' | 'incoming'; clientId: string; packetId: PacketId }
  | { readonly kind: 'forwarded'; shard: number; publisher: string; packetId: PacketId }
  | { readonly kind: 'moving'; shard: number; name: string }
  | { readonly kind: 'retained'; topic: string }
  | { readonly kind: 'fact'; name: string }
  | AccessRecordKey
  | AdminRecordKey

/**
 * A record put in place (inserted or replaced), a record taken away, or a session taken away with all that is its. Or a session
 * that is another client id's from here on, with all that is its: nothing is `to`'s before, and nothing is `clientId`'s after it.
 */
export type StoredChange =
  | { readonly change: 'put'; readonly record: StoredRecord }
  | { readonly change: 'delete'; readonly key: RecordKey }
  | { readonly change: 'delete-session'; readonly clientId: string }
  | { readonly change: 'rename-session'; readonly clientId: string; readonly to: string }
