// What another shard wants to know of the topics here, for a session of its own, and how far it has been answered.

import type { PeerNumber } from '../../model/peer-messages.ts'
import type { RetainedMessage } from '../../model/retained-message.ts'
import type { RetainedCursor } from '../../topics/index.ts'

export interface RetainedRequest {
  readonly peer: PeerNumber
  readonly question: number
  readonly cursor: RetainedCursor<RetainedMessage>
  /** Not to be answered before so many messages of each shard are here; what came later the asker hears by itself. */
  readonly after: readonly number[]
  /** Then it is answered all the same: a shard that has died meanwhile counts anew. */
  readonly giveUpAtMs: number
  found: RetainedMessage[]
  isAtEnd: boolean
  /** How many the asker takes now; 0: it has not asked for more. */
  wanted: number
  /** The next message is being read from disk. */
  isReading: boolean
}
