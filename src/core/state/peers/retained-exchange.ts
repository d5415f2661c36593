// Retained messages between shards: what sessions of this shard get from other shards, and other shards from this one. See
// `peers/retained-from-peers.ts`.

import type { RetainedOrigin } from '../../messages/message.ts'
import type { PeerNumber } from '../../model/peer-names.ts'
import type { RetainedReplay } from '../sessions/retained-replay-queue.ts'
import type { Session } from '../sessions/session.ts'

export class RetainedExchange {
  /** Number of messages published here for retained topics of this shard. It corresponds to the numbers of a link. */
  publishedHere = 0
  /** Sessions that wait for retained messages of several shards, with the topics of live deliveries since then. */
  readonly waiting = new Map<Session, Set<string> | undefined>()
  /** Requests for retained messages of other shards, by ID. */
  readonly requests = new Map<number, { readonly session: Session; readonly scan: RetainedReplay }>()

  /** Returns the origin of a message that is published on this shard, for one of its topics. This object stands for the link. */
  nextOrigin(own: PeerNumber): RetainedOrigin {
    return { shard: own, link: this, number: ++this.publishedHere }
  }
}
