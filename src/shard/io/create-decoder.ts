// Options of the decoders of a shard.

import type { CoreSettings, ListenerTraits, MemoryLevel } from '../../core/index.ts'
import { PacketDecoder, type PacketDecoderOptions, type TopicTable } from '../../protocol/index.ts'

export function createDecoderOptions(
  { maxPacketBytes, maxTopicLevels, maxTopicBytes }: CoreSettings,
  maxPropertyBytes: number,
  topics: TopicTable,
): PacketDecoderOptions {
  return { role: 'server', topics, maxPacketBytes, maxPropertyBytes, maxTopicLevels, maxTopicBytes }
}

/**
 * Maximum bytes of a CONNECT packet while memory is short: enough for a client ID and a token. A longer CONNECT is refused as soon as its fixed
 * header is read. Otherwise its fields and its session would use up to 180 KB, also if the session is refused.
 */
const shortConnectBytes = 8_192

/** Maximum packet size of MQTT: section 2.1.4, with the fixed header. */
const largestPacketBytes = 268_435_460

/**
 * Returns the decoder of a connection that is accepted at this memory level. Messages of a bridge have no limit here, because the bridge checked
 * them when it received them. A prefix and loop markers may have made a message longer. If it were refused for that, it would be sent again without
 * end.
 */
export function createDecoder(
  options: PacketDecoderOptions,
  { isInternal }: ListenerTraits,
  level: MemoryLevel,
): PacketDecoder {
  if (isInternal === true)
    return new PacketDecoder({ ...options, maxPacketBytes: largestPacketBytes, maxPropertyBytes: largestPacketBytes })
  return new PacketDecoder(level === 'normal' ? options : { ...options, shortConnectBytes })
}
