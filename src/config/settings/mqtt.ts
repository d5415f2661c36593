// mqtt and retainer: limits and options of the protocol. Their defaults are those of the core.

import { boolean, choice, decimal, integer, optional, scalarText, type SettingType } from '../schema/setting-type.ts'
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

/** Sample files of NanoMQ give this count as a duration, which it ignores. Godwit ignores it with a warning. */
const awaitingRelease: SettingType<number> = {
  ...awaitingReleaseCount,
  read(value) {
    const read = awaitingReleaseCount.read(value)
    const isDuration = 'problem' in read && parseDuration(scalarText(value) ?? '', 1_000) !== undefined
    if (!isDuration || /^[0-9.]+$/.test(scalarText(value) ?? '')) return read
    return { value: 100, warning: 'a duration says nothing here: it is a number of packets; 100 is used' }
  },
}

export const mqtt = section('The protocol: limits that clients are held to, and what the broker offers them.', {
  max_packet_size: setting(size({ minBytes: 64, maxBytes: 260 * megabyte }), 10 * megabyte, {
    description:
      'The largest packet that a client may send. It is told to MQTT 5.0 clients; a larger packet ends the connection. More than 255MB counts as 255MB, so that a message still fits a packet with what is added for its receivers.',
    takes: 'on-next-connect',
  }),
  client_max_packet_size: setting(optional(size({ minBytes: 64, maxBytes: 260 * megabyte }), 'unset'), undefined, {
    description: 'A second limit of the same kind: the smaller of the two holds.',
    takes: 'on-next-connect',
    defaultWords: 'the same as mqtt.max_packet_size',
  }),
  property_size: setting(integer({ min: 1, max: 262_144 }), 32, {
    description:
      'The largest properties section of one packet. A larger one closes the connection with reason code 0x95 (packet too large), although the packet itself may be smaller than mqtt.max_packet_size; the log names this setting.',
    unit: 'KiB',
    takes: 'on-next-connect',
  }),
  max_mqueue_len: setting(integer({ min: 1, max: 10_000_000 }), 1_024, {
    description: 'Messages that wait in memory for one session. More of a durable session wait on disk.',
    takes: 'on-next-connect',
  }),
  max_mqueue_bytes: setting(size({ minBytes: 1_024, maxBytes: 1_024 * gigabyte }), 64 * megabyte, {
    description:
      'Bytes of memory that these messages may take for one session. One message alone may take more. The node lowers this limit while its memory is short: see node.memory_limit.',
    takes: 'on-next-connect',
  }),
  mqueue_full_policy: setting(choice(['drop-newest', 'drop-oldest']), 'drop-newest', {
    description: 'Which message goes when one too many waits for a session that nothing is stored for.',
    takes: 'on-next-connect',
  }),
  max_stored_messages: setting(integer({ min: 1, max: maxCount }), 1_000_000, {
    description:
      'Messages that wait on disk for one session. One more is refused: the publisher is told that the quota is exceeded.',
    takes: 'on-next-connect',
  }),
  max_inflight_window: setting(integer({ min: 1, max: max16Bits }), 1_024, {
    description: 'QoS 1 and 2 messages that may be unacknowledged towards one client. A client may ask for fewer.',
    takes: 'on-next-connect',
  }),
  max_inflight_bytes: setting(size({ minBytes: 1_024, maxBytes: 1_024 * gigabyte }), 16 * megabyte, {
    description:
      'Bytes of memory that unacknowledged messages towards one client may take. Further messages wait. One message alone may take more.',
    takes: 'on-next-connect',
  }),
  receive_maximum: setting(integer({ min: 1, max: max16Bits }), 1_024, {
    description:
      'QoS 1 and 2 messages that one client may have unacknowledged towards the broker. It is sent to MQTT 5.0 clients in CONNACK; the connection of a client that exceeds it is closed with reason code 0x93. Some clients, such as MQTT.js, do not obey it: set it above the number of messages that they publish at once.',
    takes: 'on-next-connect',
  }),
  max_awaiting_rel: setting(awaitingRelease, 1_024, {
    description:
      'QoS 2 messages that one session may have without their PUBREL. A further one of an MQTT 5.0 client is refused with reason code 0x97, unless mqtt.await_rel_timeout frees a packet identifier.',
    takes: 'on-next-connect',
  }),
  await_rel_timeout: setting(duration({ minMs: 1_000, maxMs: 30 * dayMs }), 300_000, {
    description:
      'Age at which the packet identifier of a QoS 2 message without PUBREL may be freed, if the session has mqtt.max_awaiting_rel of them. Below that number it is kept as long as the session, so that the message is delivered exactly once whenever its publisher returns.',
    takes: 'on-next-connect',
  }),
  retry_interval: setting(duration({ minMs: 0, maxMs: 30 * dayMs }), 30_000, {
    description:
      'How long an MQTT 3.1 or 3.1.1 client may leave a message unacknowledged before it is sent again. 0: it is sent again only when the client comes back.',
    takes: 'on-next-connect',
  }),
  keepalive_multiplier: setting(decimal({ moreThan: 0.5, max: 100 }), 1.5, {
    description: 'A client that is silent for its keep alive times this is taken for lost.',
    takes: 'on-next-connect',
  }),
  server_keepalive: setting(optional(integer({ min: 1, max: max16Bits }), 'none'), undefined, {
    description: 'Keep alive that clients must use, whatever they ask for. It is told to MQTT 5.0 clients.',
    unit: 'seconds',
    takes: 'on-next-connect',
    defaultWords: 'none: what each client asks for',
  }),
  idle_timeout: setting(duration({ minMs: 10, maxMs: dayMs }), 15_000, {
    description: 'How long a new connection may stay silent before its CONNECT.',
    takes: 'on-next-connect',
  }),
  max_qos_allowed: setting(choice(['2', '1', '0']), '2', {
    description: 'The highest QoS that clients may publish with and subscribe at.',
    takes: 'on-next-connect',
  }),
  retain_available: setting(boolean, true, {
    description: 'Whether messages may be retained.',
    takes: 'on-next-connect',
  }),
  wildcard_subscription: setting(boolean, true, {
    description: 'Whether filters may hold + and #.',
    takes: 'on-next-connect',
  }),
  shared_subscription: setting(boolean, true, {
    description: 'Whether clients may share a subscription by $share.',
    takes: 'on-next-connect',
  }),
  exclusive_subscription: setting(boolean, false, {
    description:
      'Whether a client may keep a filter to itself by $exclusive/: a second one is told that the quota is exceeded.',
    takes: 'on-next-connect',
  }),
  validate_payload_format: setting(boolean, false, {
    description:
      'Whether a message that calls its payload UTF-8 is looked at and refused with reason code 0x99 if it is not.',
    takes: 'at-once',
  }),
  max_topic_levels: setting(integer({ min: 1, max: max16Bits }), 128, {
    description:
      'Maximum number of levels of a topic name or filter. A PUBLISH with more is acknowledged with reason code 0x90, a SUBSCRIBE with 0x8F (0x80 before MQTT 5.0). A PUBLISH without a reason code (QoS 0, or before MQTT 5.0) closes the connection.',
    takes: 'on-next-connect',
  }),
  max_topic_length: setting(integer({ min: 256, max: 65_535 }), 65_535, {
    description:
      'Maximum length of a topic name or filter, in bytes. Longer ones are refused as for mqtt.max_topic_levels. The default is the maximum of MQTT; what long topics can take in memory is bounded by mqtt.max_subscription_bytes and the other limits in bytes.',
    takes: 'on-next-connect',
  }),
  max_clientid_len: setting(integer({ min: 23, max: max16Bits }), 65_535, {
    description: 'Bytes that a client id may have. MQTT promises clients at least 23.',
    takes: 'on-next-connect',
  }),
  strict_clientid_31: setting(boolean, false, {
    description:
      'Refuse MQTT 3.1 clients with a client ID of more than 23 characters, as that version requires. false: mqtt.max_clientid_len alone is the limit, as in other brokers.',
    takes: 'on-next-connect',
  }),
  max_topic_alias: setting(integer({ min: 0, max: max16Bits }), 1_024, {
    description: 'Topic aliases in each direction of one connection. 0 turns them off.',
    takes: 'on-next-connect',
  }),
  max_topic_alias_bytes: setting(size({ minBytes: 0, maxBytes: gigabyte }), 262_144, {
    description:
      'Bytes of the names of topics that have an alias, in each direction of one connection: 1,024 aliases with topics of 256 bytes. A client that sets more is disconnected with reason code 0x97; towards clients further topics are written out.',
    takes: 'on-next-connect',
  }),
  session_expiry_interval: setting(duration({ minMs: 0, maxMs: maxExpiryMs, stepMs: 1_000 }), 7_200_000, {
    description: 'How long the session of an absent MQTT 3.1 or 3.1.1 client is kept that asked for one to be kept.',
    takes: 'on-next-connect',
  }),
  max_session_expiry_interval: setting(
    optional(duration({ minMs: 0, maxMs: maxExpiryMs, stepMs: 1_000 }), 'unlimited'),
    undefined,
    {
      description: 'The longest session expiry that an MQTT 5.0 client gets when it asks for more.',
      takes: 'on-next-connect',
    },
  ),
  upgrade_qos: setting(boolean, false, {
    description: 'Deliver with the QoS of the subscription even where the message came with less.',
    takes: 'at-once',
  }),
  batch_resend: setting(boolean, false, {
    description: 'Whether NanoMQ sends all unacknowledged messages of a client again in one go.',
    takes: 'at-once',
  }),
  max_subscriptions: setting(integer({ min: 1, max: 10_000_000 }), 10_000, {
    description: 'Maximum number of subscriptions of one session. One more is refused with reason code 0x97.',
    takes: 'on-next-connect',
  }),
  max_subscription_bytes: setting(size({ minBytes: 65_536, maxBytes: 1_073_741_824 }), 2_097_152, {
    description:
      'Maximum size of the topic filters of one session, together. One more is refused with reason code 0x97.',
    takes: 'on-next-connect',
  }),
  max_overlapping_subscriptions: setting(integer({ min: 1, max: 1_000_000 }), 64, {
    description:
      'Maximum number of subscriptions of one session that one topic can match: different places of wildcards, counted for each shared group. It bounds what the filters of one client cost the publications of others. One more is refused with reason code 0x97.',
    takes: 'on-next-connect',
  }),
  max_will_size_in_memory: setting(size({ minBytes: 0, maxBytes: megabyte }), 1_024, {
    description:
      'The largest will that is kept in memory, counted with its topic and properties. A larger one is kept on disk only and read when it is published.',
    takes: 'on-next-connect',
  }),
  max_parked_packets: setting(integer({ min: 1, max: max16Bits }), 128, {
    description:
      'Packets of one connection that wait while its CONNECT is being decided. Beyond them nothing more is read from it.',
    takes: 'on-next-connect',
  }),
  max_unconfirmed_messages: setting(integer({ min: 1, max: maxCount }), 100_000, {
    description:
      'Messages kept for another shard of the node until it has them on disk. Beyond them publishers wait; while that shard is away they are refused.',
    takes: 'at-once',
  }),
  max_unconfirmed_bytes: setting(size({ minBytes: megabyte, maxBytes: 1_024 * gigabyte }), 64 * megabyte, {
    description: 'The same, in bytes of payload.',
    takes: 'at-once',
  }),
  max_unsent_bytes: setting(size({ minBytes: 1_024, maxBytes: gigabyte }), megabyte, {
    description:
      'Bytes that may wait for a slow client. Beyond them QoS 0 messages are dropped and counted, QoS 1 and 2 wait in the session.',
    takes: 'on-next-connect',
  }),
  max_unsent_bytes_total: setting(
    optional(size({ minBytes: megabyte, maxBytes: 1_024 * gigabyte }), 'auto'),
    undefined,
    {
      description: 'The same, for all clients together.',
      defaultWords: 'one eighth of node.memory_limit',
    },
  ),
  max_unfinished_bytes_total: setting(
    optional(size({ minBytes: megabyte, maxBytes: 1_024 * gigabyte }), 'auto'),
    undefined,
    {
      description:
        'Bytes that packets may take of which not all has come, of all clients together; each shard has its part. Above the limit, the client whose packet has made no progress for the longest time is disconnected with reason code 0x97, then the next.',
      defaultWords: 'one eighth of node.memory_limit',
    },
  ),
})

export const retainer = section('Retained messages.', {
  max_retained_messages: setting(optional(integer({ min: 0, max: maxCount }), 'unlimited'), undefined, {
    description: 'Retained messages that are kept; 0 sets no limit. One more is delivered but not kept.',
    takes: 'at-once',
  }),
  max_payload_size: setting(size({ minBytes: 1, maxBytes: 260 * megabyte }), megabyte, {
    description:
      'Maximum payload of a retained message. A larger one of an MQTT 5.0 client with QoS 1 or 2 is refused with reason code 0x97. Any other is delivered to live subscribers, counted as dropped (no-retained-room), and its topic has no retained message afterwards, never an older one.',
    takes: 'at-once',
  }),
  max_size_in_memory: setting(size({ minBytes: 0, maxBytes: 260 * megabyte }), 4_096, {
    description:
      'The largest retained message that is kept in memory, counted with its topic and properties. Of a larger one only the metadata is kept in memory, and the payload is read from disk for each new subscription that matches.',
    takes: 'at-once',
  }),
  msg_expiry_interval: setting(duration({ minMs: 0, maxMs: maxExpiryMs }), 0, {
    description: 'How long a retained message is kept that says nothing about it itself. 0: for ever.',
    takes: 'at-once',
  }),
})
