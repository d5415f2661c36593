// Options of the decoders of a shard.

import type { CoreSettings, ListenerTraits, MemoryLevel } from '../../core/index.ts'
import { PacketDecoder, type PacketDecoderOptions, type TopicTable } from '../../protocol/index.ts'

export function decoderOptions(
  { maxPacketBytes, maxTopicLevels, maxTopicBytes }: CoreSettings,
  maxPropertyBytes: number,
  topics: TopicTable,
): PacketDecoderOptions {
  return { role: 'server', topics, maxPacketBytes, maxPropertyBytes, maxTopicLevels, maxTopicBytes }
}

/**
 * Accepted CONNECT packets while memory is short, in bytes: enough for a client ID and a token. A longer one is refused as soon as its fixed
 * header is read: its texts and its session would take up to 180 KB, also if the session is refused.
 */
const shortConnectBytes = 8_192

/** Maximum packet size of MQTT: section 2.1.4, with the fixed header. */
const largestPacketBytes = 268_435_460

/**
 * For a connection that is accepted at this memory level. Messages of a bridge were limited where the bridge received them. A prefix and
 * marks may have made them longer: a message refused for that would be sent again and again.
 */
export function decoderFor(
  options: PacketDecoderOptions,
  { isBridge }: ListenerTraits,
  level: MemoryLevel,
): PacketDecoder {
  if (isBridge === true)
    return new PacketDecoder({ ...options, maxPacketBytes: largestPacketBytes, maxPropertyBytes: largestPacketBytes })
  return new PacketDecoder(level === 'normal' ? options : { ...options, shortConnectBytes })
}
