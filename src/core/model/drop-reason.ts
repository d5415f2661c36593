/** Why a message does not reach a client. */
export type DropReason =
  | 'queue-full'
  /** The memory of the node is short: see `MemoryLevel`. */
  | 'memory-full'
  | 'expired'
  | 'too-large'
  | 'not-reading'
  | 'storage-full'
  | 'no-retained-room'
  | 'session-ended'
  /** Another shard is so far behind that no more is kept for it. */
  | 'peer-behind'
  /** The publisher or the receiver may not. */
  | 'not-allowed'
