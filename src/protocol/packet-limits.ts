// What a decoder takes of one packet.

/** Named by the settings that they come from. */
export interface PacketLimits {
  /** Maximum bytes of a packet with its fixed header. A larger one is `packetTooLarge`, which the header alone shows. */
  readonly maxPacketBytes: number
  /** One property section, in bytes; beyond it `packetTooLarge`. */
  readonly maxPropertyBytes: number
  /** Levels of a topic name; beyond it `topicNameInvalid`. The core of a server checks PUBLISH and SUBSCRIBE. */
  readonly maxTopicLevels: number
  /** The same in bytes of UTF-8. */
  readonly maxTopicBytes: number
  /** CONNECT with its fixed header, in bytes, where less than `maxConnectBytes` is accepted. */
  readonly shortConnectBytes?: number
}

/** A text or bytes behind their length, as long as there can be. */
const maxFieldBytes = 2 + 65_535
/** Client id, topic and payload of the will, user name, password. */
const connectFieldCount = 5
/** Fixed header, protocol name and level, flags, keep alive; and the lengths of two property sections. */
const connectOverheadBytes = 5 + 12 + 2 * 4

/**
 * A longer CONNECT has data behind its end. Its sender is not authenticated, so it must not use the memory that a message
 * may use.
 */
export function maxConnectBytes({
  maxPacketBytes,
  maxPropertyBytes,
  shortConnectBytes = Infinity,
}: Pick<PacketLimits, 'maxPacketBytes' | 'maxPropertyBytes' | 'shortConnectBytes'>): number {
  const completeBytes = connectFieldCount * maxFieldBytes + connectOverheadBytes + 2 * maxPropertyBytes
  return Math.min(maxPacketBytes, completeBytes, shortConnectBytes)
}
