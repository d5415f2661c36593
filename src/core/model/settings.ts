// The settings of the core, by their names in the configuration (`mqtt.*`, `retainer.*`).

import type { QoS } from '../../protocol/index.ts'
import type { RewriteRule } from './topic-rewrites.ts'

/** Which message is dropped when the queue of a clean session is full. */
export type QueueFullPolicy = 'drop-newest' | 'drop-oldest'

export interface CoreSettings {
  /** rewrite; undefined: no topic is rewritten. */
  topicRewrites: readonly RewriteRule[] | undefined
  /** delayed.enable: messages to `$delayed/...` are published later; if false, this is an ordinary topic. */
  delaysMessages: boolean
  /** delayed.max_delayed_messages, for all shards together; undefined: no limit. */
  maxDelayedMessages: number | undefined
  /** delayed.max_delayed_messages_per_client; undefined: no limit. */
  maxDelayedMessagesPerClient: number | undefined
  /** mqtt.max_packet_size, in bytes: sent in CONNACK; larger packets are rejected. */
  maxPacketBytes: number
  /** mqtt.max_mqueue_len: queued messages in memory for each session. */
  maxQueuedMessages: number
  /** mqtt.max_mqueue_bytes: memory of these messages. */
  maxQueuedBytes: number
  /** mqtt.mqueue_full_policy */
  queueFullPolicy: QueueFullPolicy
  /** mqtt.max_stored_messages: queued messages on disk for each session. */
  maxStoredMessages: number
  /** mqtt.stored_messages_overflow */
  storedMessagesOverflow: 'drop-oldest' | 'reject-publish'
  /** mqtt.max_inflight_window: unacknowledged QoS 1 and 2 messages towards each client. */
  maxInflightMessages: number
  /** mqtt.max_inflight_bytes: memory of these messages; a single one may take more. */
  maxInflightBytes: number
  /** mqtt.receive_maximum: unacknowledged QoS 1 and 2 messages from each client, sent in CONNACK. */
  receiveMaximum: number
  /** mqtt.max_awaiting_rel: QoS 2 packets without PUBREL, for each client. */
  maxAwaitingRelease: number
  /**
   * mqtt.await_rel_timeout: age at which a QoS 2 packet identifier without PUBREL may be freed when the limit is
   * reached; 0: never.
   */
  awaitReleaseTimeoutMs: number
  /** mqtt.retry_interval: unacknowledged packets are sent again to 3.1 and 3.1.1 clients; 0: never. */
  retryIntervalMs: number
  /** mqtt.keepalive_multiplier */
  keepAliveMultiplier: number
  /** mqtt.server_keepalive: the keep alive that the broker requires; undefined: the client's. */
  serverKeepAliveSeconds: number | undefined
  /** mqtt.idle_timeout: maximum time from the connection to CONNECT. */
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
  /** mqtt.validate_payload_format: a payload that is declared UTF-8 and is not is rejected. */
  validatesPayloadFormat: boolean
  /** mqtt.max_topic_levels */
  maxTopicLevels: number
  /** mqtt.max_topic_length, in bytes of UTF-8. */
  maxTopicBytes: number
  /** mqtt.max_clientid_len, in bytes of UTF-8. */
  maxClientIdBytes: number
  /** mqtt.strict_clientid_31: client IDs of MQTT 3.1 have at most 23 characters. */
  limitsClientIdsOf31: boolean
  /** auth.client_id_binding: only the identity that created a session may resume it. */
  bindsClientIds: boolean
  /** mqtt.max_topic_alias_bytes: bytes of the topic names with aliases, in each direction of a connection. */
  maxTopicAliasBytes: number
  /** mqtt.max_topic_alias: maximum number of aliases in each direction. */
  maxTopicAlias: number
  /** mqtt.session_expiry_interval: for persistent sessions of 3.1 and 3.1.1. */
  sessionExpirySeconds: number
  /** mqtt.max_session_expiry_interval: maximum for 5.0 clients; undefined: no limit. */
  maxSessionExpirySeconds: number | undefined
  /** mqtt.upgrade_qos: deliver with the QoS of the subscription even if the message was published with a lower one. */
  upgradeQoS: boolean
  /** mqtt.max_subscriptions: subscriptions of one session. */
  maxSubscriptions: number
  /** mqtt.max_subscription_bytes: filters of one session, together. */
  maxSubscriptionBytes: number
  /** mqtt.max_overlapping_subscriptions: subscriptions of one session that one topic can match. */
  maxOverlappingSubscriptions: number
  /** mqtt.max_unsent_bytes: for each connection; beyond it QoS 0 is dropped, and QoS 1 and 2 wait in the session. */
  maxUnsentBytes: number
  /** mqtt.max_will_size_in_memory: topic, payload and properties of a will; a larger will is on disk only. */
  maxWillBytesInMemory: number
  /** mqtt.max_parked_packets: packets of one connection that wait until its CONNECT is accepted. */
  maxParkedPackets: number
  /** mqtt.max_unconfirmed_messages: messages stored for one peer until it confirms them; beyond it, publishers wait. */
  maxUnconfirmedMessages: number
  /** mqtt.max_unconfirmed_bytes: the same, in bytes of payload. */
  maxUnconfirmedBytes: number
  /** retainer.max_retained_messages; undefined: no limit. */
  maxRetainedMessages: number | undefined
  /** retainer.max_payload_size, in bytes. */
  maxRetainedPayloadBytes: number
  /** retainer.max_size_in_memory: topic, payload and properties of a retained message; of a larger one only the metadata is in memory. */
  maxRetainedBytesInMemory: number
  /** retainer.msg_expiry_interval; 0: retained messages without their own expiry do not expire. */
  retainedExpiryMs: number
}

export const defaultCoreSettings: CoreSettings = {
  topicRewrites: undefined,
  delaysMessages: true,
  maxDelayedMessages: 100_000,
  maxDelayedMessagesPerClient: 10_000,
  maxPacketBytes: 10 * 1_024 * 1_024,
  maxQueuedMessages: 1_024,
  maxQueuedBytes: 64 * 1_024 * 1_024,
  queueFullPolicy: 'drop-newest',
  maxStoredMessages: 1_000_000,
  storedMessagesOverflow: 'drop-oldest',
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
