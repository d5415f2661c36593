// Options of the decoders of a shard.

import type { CoreSettings, ListenerTraits } from '../../core/index.ts'
import type { PacketDecoderOptions, TopicTable } from '../../protocol/index.ts'

export function decoderOptions(
  { maxPacketBytes, maxTopicLevels, maxTopicBytes }: CoreSettings,
  maxPropertyBytes: number,
  topics: TopicTable,
): PacketDecoderOptions {
  return { role: 'server', topics, maxPacketBytes, maxPropertyBytes, maxTopicLevels, maxTopicBytes }
}

/** Maximum packet size of MQTT: section 2.1.4, with the fixed header. */
const largestPacketBytes = 268_435_460

/**
 * Messages of a bridge were limited where the bridge received them. A prefix and marks may have made them longer: a
 * message refused for that would be sent again and again.
 */
export function optionsFor(options: PacketDecoderOptions, { isBridge }: ListenerTraits): PacketDecoderOptions {
  if (isBridge !== true) return options
  return { ...options, maxPacketBytes: largestPacketBytes, maxPropertyBytes: largestPacketBytes }
}
