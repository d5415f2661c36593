// Limits of the decoder for one packet.

/** Each limit has the name of its setting. */
export interface PacketLimits {
  /** Maximum bytes of a packet with its fixed header. A larger one is `packetTooLarge`, which is detected in the header. */
  readonly maxPacketBytes: number
  /** Maximum bytes of one property section; a larger one is `packetTooLarge`. */
  readonly maxPropertyBytes: number
  /** Maximum levels of a topic name; more are `topicNameInvalid`. The core of a server checks PUBLISH and SUBSCRIBE. */
  readonly maxTopicLevels: number
  /** Maximum bytes of a topic name in UTF-8. */
  readonly maxTopicBytes: number
  /** Maximum bytes of a CONNECT with its fixed header, if lower than `computeMaxConnectBytes`. */
  readonly shortConnectBytes?: number
}

/** Maximum size of a text or of binary data, with the two bytes of its length. */
const maxFieldBytes = 2 + 65_535
/** Client id, topic and payload of the will, user name, password. */
const connectFieldCount = 5
/** Fixed header, protocol name and level, flags, keep alive; and the lengths of two property sections. */
const connectOverheadBytes = 5 + 12 + 2 * 4

/**
 * A longer CONNECT has data after its last field. Its sender is not authenticated, so it must not use the memory that a message
 * may use.
 */
export function computeMaxConnectBytes({
  maxPacketBytes,
  maxPropertyBytes,
  shortConnectBytes = Infinity,
}: Pick<PacketLimits, 'maxPacketBytes' | 'maxPropertyBytes' | 'shortConnectBytes'>): number {
  const completeBytes = connectFieldCount * maxFieldBytes + connectOverheadBytes + 2 * maxPropertyBytes
  return Math.min(maxPacketBytes, completeBytes, shortConnectBytes)
}
