// What the decoders of a shard are made with.

import type { CoreSettings } from '../core/index.ts'
import type { PacketDecoderOptions, TopicTable } from '../protocol/index.ts'

export function decoderOptions(
  { maxPacketBytes, maxTopicLevels }: CoreSettings,
  maxPropertyBytes: number,
  topics: TopicTable,
): PacketDecoderOptions {
  return { role: 'server', topics, maxPacketBytes, maxPropertyBytes, maxTopicLevels }
}
