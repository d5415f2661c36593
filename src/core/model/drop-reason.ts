/** Reason why a message was not delivered to a client. */
export type DropReason =
  | 'queue-full'
  /** The node is short of memory: see `MemoryLevel`. */
  | 'memory-full'
  | 'expired'
  | 'too-large'
  | 'not-reading'
  /** QoS 0: the client is sent as many messages as `deliveries_rate` allows. */
  | 'rate-limited'
  | 'storage-full'
  | 'no-retained-room'
  | 'session-ended'
  /** A peer is too far behind, and the limit of messages for it is reached. */
  | 'peer-behind'
  /** The publisher or the receiver is not authorized. */
  | 'not-allowed'
  /** A plugin dropped it, or failed. */
  | 'plugin'
