// The limits and choices of the core, by the names that they have in the configuration (`mqtt.*`, `retainer.*`).

import type { QoS } from '../../protocol/index.ts'
import type { RewriteRule } from './topic-rewrites.ts'

/** What to do with one message more than a session may have waiting in memory, where nothing is stored for it. */
export type QueueFullPolicy = 'drop-newest' | 'drop-oldest'

export interface CoreSettings {
  /** rewrite; undefined: no topic is replaced. */
  topicRewrites: readonly RewriteRule[] | undefined
  /** delayed.enable: messages to `$delayed/...` are published later; if false, such a topic is one like others. */
  delaysMessages: boolean
  /** delayed.max_delayed_messages, of all shards together; undefined: no limit. */
  maxDelayedMessages: number | undefined
  /** mqtt.max_packet_size, in bytes: told in CONNACK, refused beyond. */
  maxPacketBytes: number
  /** mqtt.max_mqueue_len: messages waiting in memory for each session. */
  maxQueuedMessages: number
  /** mqtt.max_mqueue_bytes: what these messages take in memory. */
  maxQueuedBytes: number
  /** mqtt.mqueue_full_policy */
  queueFullPolicy: QueueFullPolicy
  /** mqtt.max_stored_messages: messages waiting on disk for each session. */
  maxStoredMessages: number
  /** mqtt.max_inflight_window: unacknowledged QoS 1 and 2 messages towards each client. */
  maxInflightMessages: number
  /** mqtt.max_inflight_bytes: what these messages take in memory; one alone may take more. */
  maxInflightBytes: number
  /** mqtt.receive_maximum: unacknowledged QoS 1 and 2 messages from each client, told in CONNACK. */
  receiveMaximum: number
  /** mqtt.max_awaiting_rel: QoS 2 packets that a client may leave unreleased. */
  maxAwaitingRelease: number
  /** mqtt.await_rel_timeout: an unreleased QoS 2 packet identifier of this age may be freed, at the limit. 0: never. */
  awaitReleaseTimeoutMs: number
  /** mqtt.retry_interval: unacknowledged packets are sent again to 3.1 and 3.1.1 clients; 0: never. */
  retryIntervalMs: number
  /** mqtt.keepalive_multiplier */
  keepAliveMultiplier: number
  /** mqtt.server_keepalive: what clients are told to use; undefined: what they ask for. */
  serverKeepAliveSeconds: number | undefined
  /** mqtt.idle_timeout: silence before CONNECT. */
  idleTimeoutMs: number
  /** mqtt.max_qos_allowed */
  maximumQoS: QoS
  /** mqtt.retain_available */
  retainAvailable: boolean
  /** mqtt.wildcard_subscription */
  wildcardSubscriptionAvailable: boolean
  /** mqtt.shared_subscription */
  sharedSubscriptionAvailable: boolean
  /** mqtt.exclusive_subscription */
  exclusiveSubscriptionAvailable: boolean
  /** mqtt.validate_payload_format: a payload that says it is UTF-8 and is not is refused. */
  validatesPayloadFormat: boolean
  /** mqtt.max_topic_levels */
  maxTopicLevels: number
  /** mqtt.max_topic_length, in bytes of UTF-8. */
  maxTopicBytes: number
  /** mqtt.max_clientid_len, in bytes of UTF-8. */
  maxClientIdBytes: number
  /** mqtt.strict_clientid_31: client ids of MQTT 3.1 have at most 23 characters. */
  limitsClientIdsOf31: boolean
  /** auth.client_id_binding: a session is for the identity that created it, and refused to others. */
  bindsClientIds: boolean
  /** mqtt.max_topic_alias_bytes: names of the topics that they stand for, in each direction of one connection. */
  maxTopicAliasBytes: number
  /** mqtt.max_topic_alias: aliases that a client may use towards us, and at most we towards it. */
  maxTopicAlias: number
  /** mqtt.session_expiry_interval: of 3.1 and 3.1.1 sessions that are not clean. */
  sessionExpirySeconds: number
  /** mqtt.max_session_expiry_interval: what a 5.0 client may ask for at most; undefined: anything. */
  maxSessionExpirySeconds: number | undefined
  /** mqtt.upgrade_qos: deliver at the QoS of the subscription even where the message came with less. */
  upgradeQoS: boolean
  /** mqtt.max_subscriptions: subscriptions of one session. */
  maxSubscriptions: number
  /** mqtt.max_subscription_bytes: filters of one session, together. */
  maxSubscriptionBytes: number
  /** mqtt.max_overlapping_subscriptions: subscriptions of one session that one topic can match. */
  maxOverlappingSubscriptions: number
  /** mqtt.max_unsent_bytes: for each connection; beyond it QoS 0 is dropped, QoS 1 and 2 wait in the session. */
  maxUnsentBytes: number
  /** mqtt.max_will_size_in_memory: topic, payload and properties of a will; a larger will is on disk only. */
  maxWillBytesInMemory: number
  /** mqtt.max_parked_packets: packets of one connection that wait while its CONNECT is being decided. */
  maxParkedPackets: number
  /** mqtt.max_unconfirmed_messages: kept for one other shard until it has them on disk; then publishers wait. */
  maxUnconfirmedMessages: number
  /** mqtt.max_unconfirmed_bytes: the same, in bytes of payload. */
  maxUnconfirmedBytes: number
  /** retainer.max_retained_messages; undefined: no limit. */
  maxRetainedMessages: number | undefined
  /** retainer.max_payload_size, in bytes. */
  maxRetainedPayloadBytes: number
  /** retainer.max_size_in_memory: topic, payload and properties of a retained message; of a larger one only the metadata is in memory. */
  maxRetainedBytesInMemory: number
  /** retainer.msg_expiry_interval; 0: retained messages without an expiry of their own stay for ever. */
  retainedExpiryMs: number
}

export const defaultCoreSettings: CoreSettings = {
  topicRewrites: undefined,
  delaysMessages: true,
  maxDelayedMessages: 100_000,
  maxPacketBytes: 10 * 1_024 * 1_024,
  maxQueuedMessages: 1_024,
  maxQueuedBytes: 64 * 1_024 * 1_024,
  queueFullPolicy: 'drop-newest',
  maxStoredMessages: 1_000_000,
  maxInflightMessages: 1_024,
  maxInflightBytes: 16 * 1_024 * 1_024,
  receiveMaximum: 1_024,
  maxAwaitingRelease: 1_024,
  awaitReleaseTimeoutMs: 300_000,
  retryIntervalMs: 30_000,
  keepAliveMultiplier: 1.5,
  serverKeepAliveSeconds: undefined,
  idleTimeoutMs: 15_000,
  maximumQoS: 2,
  retainAvailable: true,
  wildcardSubscriptionAvailable: true,
  sharedSubscriptionAvailable: true,
  exclusiveSubscriptionAvailable: false,
  validatesPayloadFormat: false,
  maxTopicLevels: 128,
  maxTopicBytes: 65_535,
  maxClientIdBytes: 65_535,
  limitsClientIdsOf31: false,
  bindsClientIds: true,
  maxTopicAliasBytes: 256 * 1_024,
  maxTopicAlias: 1_024,
  sessionExpirySeconds: 7_200,
  maxSessionExpirySeconds: undefined,
  upgradeQoS: false,
  maxSubscriptions: 10_000,
  maxSubscriptionBytes: 2 * 1_024 * 1_024,
  maxOverlappingSubscriptions: 64,
  maxUnsentBytes: 1_024 * 1_024,
  maxWillBytesInMemory: 1_024,
  maxParkedPackets: 128,
  maxUnconfirmedMessages: 100_000,
  maxUnconfirmedBytes: 64 * 1_024 * 1_024,
  maxRetainedMessages: undefined,
  maxRetainedPayloadBytes: 1_024 * 1_024,
  maxRetainedBytesInMemory: 4_096,
  retainedExpiryMs: 0,
}
