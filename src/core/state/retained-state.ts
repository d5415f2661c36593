// Retained messages of this shard, and sessions that are sent retained messages for a new subscription.

import type { MemoryAccount } from '../model/memory-account.ts'
import type { RetainedMessage } from '../messages/retained-message.ts'
import { RetainedTree } from '../topics/index.ts'
import type { RetainedRequest } from './peers/retained-request.ts'
import { RetainedPayloads } from './sessions/retained-payloads.ts'
import type { Session } from './sessions/session.ts'

/** A session that gets retained messages, or a request of another shard for some. */
export type RetainedReader = Session | RetainedRequest

export class RetainedState {
  readonly tree = new RetainedTree<RetainedMessage>((message) => message.payloadBytes)
  readonly payloads: RetainedPayloads<RetainedReader>
  /** Messages of the broker itself, which do not count for limits. */
  ofBroker = 0
  /** Returns the number of messages on other shards; undefined: it is not known. */
  readonly countOnPeers: (() => number) | undefined
  /** Sessions with retained messages to send and space for them. */
  readonly replaying = new Set<Session>()

  constructor(memory: MemoryAccount, countOnPeers: (() => number) | undefined) {
    this.payloads = new RetainedPayloads(memory)
    this.countOnPeers = countOnPeers
  }
}
