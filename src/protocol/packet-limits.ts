// What a decoder takes of one packet.

/** Named by the settings that they come from. */
export interface PacketLimits {
  /** The whole packet with its fixed header, in bytes; beyond it `packetTooLarge`, told by the header alone. */
  readonly maxPacketBytes: number
  /** One property section, in bytes; beyond it `packetTooLarge`. */
  readonly maxPropertyBytes: number
  /** Levels of a topic name (beyond: `topicNameInvalid`) or filter (beyond: `topicFilterInvalid`). */
  readonly maxTopicLevels: number
}
