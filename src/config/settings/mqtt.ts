// mqtt and retainer: limits and options of the protocol. Their defaults are those of the core.

import { boolean, choice, decimal, integer, optional, toScalarText, type SettingType } from '../schema/setting-type.ts'
import { duration, parseDuration, size } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'
import { maxCount } from './node.ts'

const gigabyte = 1_073_741_824
const megabyte = 1_048_576
/** Expiry in MQTT has 32 bits of seconds, and the highest value means never. */
const maxExpiryMs = 4_294_967_294_000
const dayMs = 86_400_000
/** Packet identifiers and counts of them have 16 bits in MQTT. */
const max16Bits = 65_535

const awaitingReleaseCount = integer({ min: 1, max: max16Bits })

const defaultAwaitingRelease = 1_024

/** Sample files of NanoMQ give this count as a duration, which it ignores. Godwit ignores it with a warning. */
const awaitingRelease: SettingType<number> = {
  ...awaitingReleaseCount,
  read(value) {
    const read = awaitingReleaseCount.read(value)
    const isDuration = 'problem' in read && parseDuration(toScalarText(value) ?? '', 1_000) !== undefined
    if (!isDuration || /^[0-9.]+$/.test(toScalarText(value) ?? '')) return read
    const warning = `a duration has no meaning here: it is a number of packets; the default of ${defaultAwaitingRelease} stays`
    return { value: defaultAwaitingRelease, warning }
  },
}

export const mqtt = section('MQTT: limits of clients, and the features that the broker offers.', {
  max_packet_size: setting(size({ minBytes: 64, maxBytes: 260 * megabyte }), 10 * megabyte, {
    description:
      'Maximum size of a packet from a client. CONNACK reports it to MQTT 5.0 clients; a larger packet ends the connection. Values above 255MB count as 255MB, because a message can grow by properties that the broker adds for its subscribers.',
    appliesOn: 'on-next-connect',
  }),
  client_max_packet_size: setting(optional(size({ minBytes: 64, maxBytes: 260 * megabyte }), 'unset'), undefined, {
    description:
      'A second limit of the size of a packet from a client, for files of NanoMQ. The smaller of this value and mqtt.max_packet_size applies.',
    appliesOn: 'on-next-connect',
    defaultWords: 'the same as mqtt.max_packet_size',
  }),
  property_size: setting(integer({ min: 1, max: 262_144 }), 32, {
    description:
      'Maximum size of the MQTT 5.0 properties of one packet. A client that sends more is disconnected with reason code 0x95 (packet too large), even if the whole packet is smaller than mqtt.max_packet_size; the log names this setting.',
    unit: 'KiB',
    appliesOn: 'on-next-connect',
  }),
  max_mqueue_len: setting(integer({ min: 1, max: 10_000_000 }), 1_024, {
    field: 'maxQueuedMessages',
    description:
      'Maximum number of queued messages of one session in memory. Further messages of a persistent session wait on disk; for a clean session, mqtt.mqueue_full_policy applies.',
    appliesOn: 'on-next-connect',
  }),
  max_mqueue_bytes: setting(size({ minBytes: 1_024, maxBytes: 1_024 * gigabyte }), 64 * megabyte, {
    field: 'maxQueuedBytes',
    description:
      'Maximum size of the queued messages of one session in memory. Further messages are handled as for mqtt.max_mqueue_len. A single message may be larger. The node lowers this limit while memory is short: see node.memory_limit.',
    appliesOn: 'on-next-connect',
  }),
  mqueue_full_policy: setting(choice(['drop-newest', 'drop-oldest']), 'drop-newest', {
    field: 'queueFullPolicy',
    description:
      'Which message is dropped if the queue of a clean session is full (mqtt.max_mqueue_len, mqtt.max_mqueue_bytes). drop-newest: the message that arrives. drop-oldest: the message that has waited longest.',
    appliesOn: 'on-next-connect',
  }),
  max_stored_messages: setting(integer({ min: 1, max: maxCount }), 1_000_000, {
    field: 'maxStoredMessages',
    description:
      'Maximum number of messages of one session on disk, including those in flight. mqtt.stored_messages_overflow says what happens to further messages. From 80 % on, the alarm session-queue names the session.',
    appliesOn: 'on-next-connect',
  }),
  stored_messages_overflow: setting(choice(['drop_oldest', 'reject_publish']), 'drop_oldest', {
    description:
      'What happens if a persistent session has mqtt.max_stored_messages. drop_oldest: the session loses its own oldest messages, which are counted and reported; publishers and other subscribers are not affected. reject_publish: no message that a client publishes is lost. MQTT 5.0 publishers get reason code 0x97 (quota exceeded), others are not acknowledged and wait until the session has space, also if other subscribers could receive the message. Queues of bridges and actions have settings of their own.',
    appliesOn: 'at-once',
  }),
  max_inflight_window: setting(integer({ min: 1, max: max16Bits }), 1_024, {
    field: 'maxInflightMessages',
    description:
      'Maximum number of unacknowledged QoS 1 and 2 messages to one client. An MQTT 5.0 client can set a lower number (Receive Maximum).',
    appliesOn: 'on-next-connect',
  }),
  max_inflight_bytes: setting(size({ minBytes: 1_024, maxBytes: 1_024 * gigabyte }), 16 * megabyte, {
    field: 'maxInflightBytes',
    description:
      'Maximum memory of unacknowledged messages to one client. Further messages wait. A single message may be larger.',
    appliesOn: 'on-next-connect',
  }),
  receive_maximum: setting(integer({ min: 1, max: max16Bits }), 1_024, {
    field: 'receiveMaximum',
    description:
      'Maximum number of QoS 1 and 2 messages of one client that the broker has not acknowledged. CONNACK reports it to MQTT 5.0 clients; a client that exceeds it is disconnected with reason code 0x93. Some clients, such as MQTT.js, ignore it: set it above the number of messages that they publish at once.',
    appliesOn: 'on-next-connect',
  }),
  max_awaiting_rel: setting(awaitingRelease, defaultAwaitingRelease, {
    field: 'maxAwaitingRelease',
    description:
      'Maximum number of QoS 2 messages of one session whose PUBREL has not arrived. A further one of an MQTT 5.0 client is rejected with reason code 0x97, unless mqtt.await_rel_timeout frees a packet identifier.',
    appliesOn: 'on-next-connect',
  }),
  await_rel_timeout: setting(duration({ minMs: 1_000, maxMs: 30 * dayMs }), 300_000, {
    field: 'awaitReleaseTimeoutMs',
    description:
      'Age at which the packet identifier of a QoS 2 message without PUBREL may be freed, if the session has mqtt.max_awaiting_rel of them. Below that number it is kept as long as the session, so that the message is delivered exactly once whenever its publisher returns.',
    appliesOn: 'on-next-connect',
  }),
  retry_interval: setting(duration({ minMs: 0, maxMs: 30 * dayMs }), 30_000, {
    field: 'retryIntervalMs',
    description:
      'Time after which a message is sent again to an MQTT 3.1 or 3.1.1 client that has not acknowledged it. 0: it is sent again only when the client reconnects.',
    appliesOn: 'on-next-connect',
  }),
  keepalive_multiplier: setting(decimal({ moreThan: 0.5, max: 100 }), 1.5, {
    field: 'keepAliveMultiplier',
    description:
      'A client that sends no packet for longer than its keep alive multiplied by this factor is disconnected. MQTT requires 1.5.',
    appliesOn: 'on-next-connect',
  }),
  server_keepalive: setting(optional(integer({ min: 1, max: max16Bits }), 'none'), undefined, {
    field: 'serverKeepAliveSeconds',
    description:
      'Keep alive that applies to all clients in place of the one in their CONNECT. CONNACK reports it to MQTT 5.0 clients; other clients must be set to it, or they may be disconnected.',
    unit: 'seconds',
    appliesOn: 'on-next-connect',
    defaultWords: 'none: the keep alive of each CONNECT',
  }),
  idle_timeout: setting(duration({ minMs: 10, maxMs: dayMs }), 15_000, {
    field: 'idleTimeoutMs',
    description:
      'Maximum time from the opening of a connection until its CONNECT is received. Then the connection is closed.',
    appliesOn: 'on-next-connect',
  }),
  max_qos_allowed: setting(choice(['2', '1', '0']), '2', {
    description: 'Maximum QoS of messages that clients publish, and of subscriptions.',
    appliesOn: 'on-next-connect',
  }),
  retain_available: setting(boolean, true, {
    field: 'retainAvailable',
    description: 'Whether clients can publish retained messages.',
    appliesOn: 'on-next-connect',
  }),
  wildcard_subscription: setting(boolean, true, {
    field: 'wildcardSubscriptionAvailable',
    description: 'Whether topic filters can contain + and #.',
    appliesOn: 'on-next-connect',
  }),
  shared_subscription: setting(boolean, true, {
    field: 'sharedSubscriptionAvailable',
    description: 'Whether clients can use shared subscriptions ($share).',
    appliesOn: 'on-next-connect',
  }),
  exclusive_subscription: setting(boolean, false, {
    field: 'exclusiveSubscriptionAvailable',
    description:
      'Whether clients can use exclusive subscriptions ($exclusive/). A second client with the same filter gets reason code 0x97 (quota exceeded).',
    appliesOn: 'on-next-connect',
  }),
  validate_payload_format: setting(boolean, false, {
    field: 'validatesPayloadFormat',
    description:
      'Whether the broker checks payloads that are declared as UTF-8 (payload format indicator 1). An invalid one is rejected with reason code 0x99.',
    appliesOn: 'at-once',
  }),
  max_topic_levels: setting(integer({ min: 1, max: max16Bits }), 128, {
    field: 'maxTopicLevels',
    description:
      'Maximum number of levels of a topic name or filter. A PUBLISH with more is acknowledged with reason code 0x90, a SUBSCRIBE with 0x8F (0x80 before MQTT 5.0). A PUBLISH without a reason code (QoS 0, or before MQTT 5.0) closes the connection.',
    appliesOn: 'on-next-connect',
  }),
  max_topic_length: setting(integer({ min: 256, max: 65_535 }), 65_535, {
    field: 'maxTopicBytes',
    description:
      'Maximum length of a topic name or filter, in bytes. Longer ones are rejected as for mqtt.max_topic_levels. The default is the maximum of MQTT; mqtt.max_subscription_bytes and the other limits in bytes limit the memory of long topics.',
    appliesOn: 'on-next-connect',
  }),
  max_clientid_len: setting(integer({ min: 23, max: max16Bits }), 65_535, {
    field: 'maxClientIdBytes',
    description:
      'Maximum length of a client ID, in bytes. A client with a longer one is refused. MQTT requires that 23 bytes are allowed.',
    appliesOn: 'on-next-connect',
  }),
  strict_clientid_31: setting(boolean, false, {
    field: 'limitsClientIdsOf31',
    description:
      'Refuse MQTT 3.1 clients with a client ID of more than 23 characters, as that version requires. false: mqtt.max_clientid_len alone is the limit, as in other brokers.',
    appliesOn: 'on-next-connect',
  }),
  max_topic_alias: setting(integer({ min: 0, max: max16Bits }), 1_024, {
    field: 'maxTopicAlias',
    description: 'Maximum number of topic aliases in each direction of one connection. 0: no topic aliases.',
    appliesOn: 'on-next-connect',
  }),
  max_topic_alias_bytes: setting(size({ minBytes: 0, maxBytes: gigabyte }), 262_144, {
    field: 'maxTopicAliasBytes',
    description:
      'Maximum size of all topic names with an alias, in each direction of one connection. The default is enough for 1,024 topics of 256 bytes. A client that exceeds it is disconnected with reason code 0x97; to clients, the broker sends further topic names without an alias.',
    appliesOn: 'on-next-connect',
  }),
  session_expiry_interval: setting(duration({ minMs: 0, maxMs: maxExpiryMs, stepMs: 1_000 }), 7_200_000, {
    description: 'Time after which the persistent session of a disconnected MQTT 3.1 or 3.1.1 client expires.',
    appliesOn: 'on-next-connect',
  }),
  max_session_expiry_interval: setting(
    optional(duration({ minMs: 0, maxMs: maxExpiryMs, stepMs: 1_000 }), 'unlimited'),
    undefined,
    {
      description:
        'Maximum session expiry interval of MQTT 5.0 clients. CONNACK reports it to clients that request more.',
      appliesOn: 'on-next-connect',
    },
  ),
  upgrade_qos: setting(boolean, false, {
    field: 'upgradeQoS',
    description: 'Deliver messages with the QoS of the subscription, even if they were published with a lower QoS.',
    appliesOn: 'at-once',
  }),
  batch_resend: setting(boolean, false, {
    description: 'Whether NanoMQ sends all unacknowledged messages of a client again at once.',
    appliesOn: 'at-once',
  }),
  max_subscriptions: setting(integer({ min: 1, max: 10_000_000 }), 10_000, {
    field: 'maxSubscriptions',
    description: 'Maximum number of subscriptions of one session. A further one is rejected with reason code 0x97.',
    appliesOn: 'on-next-connect',
  }),
  max_subscription_bytes: setting(size({ minBytes: 65_536, maxBytes: 1_073_741_824 }), 2_097_152, {
    field: 'maxSubscriptionBytes',
    description:
      'Maximum size of all topic filters of one session together. A further subscription is rejected with reason code 0x97.',
    appliesOn: 'on-next-connect',
  }),
  max_overlapping_subscriptions: setting(integer({ min: 1, max: 1_000_000 }), 64, {
    field: 'maxOverlappingSubscriptions',
    description:
      'Maximum number of subscriptions of one session that can match the same topic. Filters with wildcards at the same levels count once; each shared group counts separately. The limit protects the publications of other clients from the cost of these filters. A further subscription is rejected with reason code 0x97.',
    appliesOn: 'on-next-connect',
  }),
  max_will_size_in_memory: setting(size({ minBytes: 0, maxBytes: megabyte }), 1_024, {
    field: 'maxWillBytesInMemory',
    description:
      'Maximum size of a will in memory, with its topic and properties. A larger will is stored on disk only, and read when it is published.',
    appliesOn: 'on-next-connect',
  }),
  max_parked_packets: setting(integer({ min: 1, max: max16Bits }), 128, {
    field: 'maxParkedPackets',
    description:
      'Maximum number of packets that the broker holds for one connection while it authenticates the client. At the maximum, it stops reading from the connection until the client is accepted or refused.',
    appliesOn: 'on-next-connect',
  }),
  max_unconfirmed_messages: setting(integer({ min: 1, max: maxCount }), 100_000, {
    field: 'maxUnconfirmedMessages',
    description:
      'Maximum number of messages that one shard has sent or has to send to another shard and that are not confirmed yet. At the maximum, the broker stops reading from publishers of further QoS 1 and 2 messages for that shard. If that shard is restarting, MQTT 5.0 publishers get reason code 0x97 instead.',
    appliesOn: 'at-once',
  }),
  max_unconfirmed_bytes: setting(size({ minBytes: megabyte, maxBytes: 1_024 * gigabyte }), 64 * megabyte, {
    field: 'maxUnconfirmedBytes',
    description:
      'Maximum size of the messages that mqtt.max_unconfirmed_messages counts. The same happens at this limit.',
    appliesOn: 'at-once',
  }),
  max_unsent_bytes: setting(size({ minBytes: 1_024, maxBytes: gigabyte }), megabyte, {
    field: 'maxUnsentBytes',
    description:
      'Maximum number of bytes that the broker has for one client and that its connection has not accepted yet, because the client reads slowly. Beyond it, further QoS 0 messages are dropped and counted, and QoS 1 and 2 messages wait in the queue of the session.',
    appliesOn: 'on-next-connect',
  }),
  max_unsent_bytes_total: setting(
    optional(size({ minBytes: megabyte, maxBytes: 1_024 * gigabyte }), 'auto'),
    undefined,
    {
      description:
        'Maximum of these bytes for all clients together; it is divided among the shards. Above it, each client that reads slowly is handled as if it had reached mqtt.max_unsent_bytes.',
      defaultWords: 'one eighth of node.memory_limit',
    },
  ),
  max_unfinished_bytes_total: setting(
    optional(size({ minBytes: megabyte, maxBytes: 1_024 * gigabyte }), 'auto'),
    undefined,
    {
      description:
        'Maximum memory of packets that are received only in part, of all clients together; it is divided among the shards. Above it, the client whose packet has made no progress for the longest time is disconnected with reason code 0x97, then the next.',
      defaultWords: 'one eighth of node.memory_limit',
    },
  ),
})

export const retainer = section('Retained messages: how many are kept, how large they may be, and when they expire.', {
  max_retained_messages: setting(optional(integer({ min: 0, max: maxCount }), 'unlimited'), undefined, {
    description: 'Maximum number of retained messages; 0: no limit. A further one is delivered but not retained.',
    appliesOn: 'at-once',
  }),
  max_payload_size: setting(size({ minBytes: 1, maxBytes: 260 * megabyte }), megabyte, {
    field: 'maxRetainedPayloadBytes',
    description:
      'Maximum payload of a retained message. A larger one of an MQTT 5.0 client with QoS 1 or 2 is rejected with reason code 0x97. Any other is delivered to live subscribers, counted as dropped (no-retained-room), and its topic has no retained message afterwards, never an older one.',
    appliesOn: 'at-once',
  }),
  max_size_in_memory: setting(size({ minBytes: 0, maxBytes: 260 * megabyte }), 4_096, {
    field: 'maxRetainedBytesInMemory',
    description:
      'Maximum size of a retained message in memory, with its topic and properties. Of a larger one, only the metadata is in memory, and the payload is read from disk for each new matching subscription.',
    appliesOn: 'at-once',
  }),
  msg_expiry_interval: setting(duration({ minMs: 0, maxMs: maxExpiryMs }), 0, {
    field: 'retainedExpiryMs',
    description: 'Time after which a retained message without a message expiry interval is deleted. 0: never.',
    appliesOn: 'at-once',
  }),
})
