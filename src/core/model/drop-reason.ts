/** Why a message was not delivered to a client. */
export type DropReason =
  | 'queue-full'
  /** The node is short of memory: see `MemoryLevel`. */
  | 'memory-full'
  | 'expired'
  | 'too-large'
  | 'not-reading'
  | 'storage-full'
  | 'no-retained-room'
  | 'session-ended'
  /** A peer is too far behind, and the limit of messages for it is reached. */
  | 'peer-behind'
  /** The publisher or the receiver is not authorized. */
  | 'not-allowed'
