// A request of another shard for retained messages of this shard, and its progress.

import type { PeerNumber } from '../../model/peer-names.ts'
import type { RetainedMessage } from '../../messages/retained-message.ts'
import type { RetainedCursor } from '../../topics/index.ts'

export interface RetainedRequest {
  readonly peer: PeerNumber
  readonly requestId: number
  readonly cursor: RetainedCursor<RetainedMessage>
  /**
   * By shard: the response is sent only after this number of messages was received. Later ones reach the session live. The entry of a shard is
   * deleted when its link ends.
   */
  readonly after: Map<PeerNumber, number>
  found: RetainedMessage[]
  isAtEnd: boolean
  /** Number of messages that the peer accepts now; 0: it has not requested more. */
  requested: number
  /** The next message is being read from disk. */
  isReading: boolean
}
