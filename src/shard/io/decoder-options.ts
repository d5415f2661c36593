// What the decoders of a shard are made with.

import type { CoreSettings, ListenerTraits } from '../../core/index.ts'
import type { PacketDecoderOptions, TopicTable } from '../../protocol/index.ts'

export function decoderOptions(
  { maxPacketBytes, maxTopicLevels, maxTopicBytes }: CoreSettings,
  maxPropertyBytes: number,
  topics: TopicTable,
): PacketDecoderOptions {
  return { role: 'server', topics, maxPacketBytes, maxPropertyBytes, maxTopicLevels, maxTopicBytes }
}

/** The largest there is: section 2.1.4, with the fixed header. */
const largestPacketBytes = 268_435_460

/**
 * What a bridge brings has been held to the limits where it came to the bridge. It may have become longer since, by a prefix
 * and by marks: a message that were refused for that would come again and again.
 */
export function optionsFor(options: PacketDecoderOptions, { isBridge }: ListenerTraits): PacketDecoderOptions {
  if (isBridge !== true) return options
  return { ...options, maxPacketBytes: largestPacketBytes, maxPropertyBytes: largestPacketBytes }
}
