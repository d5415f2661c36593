// Wills and delayed messages that are stored and not published, or not durable yet on every shard that must store them.

import type { QoS, TopicName } from '../../protocol/index.ts'
import type { RemainingReceivers } from '../../records/index.ts'
import type { Message } from '../messages/message.ts'
import { PendingQueue } from './sessions/pending-queue.ts'
import type { Session } from './sessions/session.ts'
import type { SessionWill } from './sessions/session-will.ts'
import { WillLoads, type WillLoad } from './sessions/will-loads.ts'

/** A message to `$delayed/...` that was acknowledged and is not published yet. */
export interface DelayedMessage {
  /** The will whose name the record of the message has. A large message is on disk only. */
  readonly will: SessionWill
  readonly dueAtMs: number
  readonly topic: TopicName
  readonly qos: QoS
  readonly retain: boolean
  readonly publisher: string
  readonly publisherUsername: string | undefined
  readonly publishedAtMs: number
  readonly payloadBytes: number
}

/** A will that is published after its message was read from disk. */
export type DueWill = WillLoad<Session, Message>

/**
 * A will that was published and is not durable yet on every shard that must store it: see `publish/stored-wills.ts`.
 */
export interface PendingWill {
  /** Name of its record: the client ID, or a reserved name. */
  name: string
  readonly message: Message
  /** Set if the number of shards changed since it was published. */
  readonly remaining: RemainingReceivers | undefined
}

export class WillState {
  /**
   * Wills that have no session, by client ID: their clean sessions ended with a restart of the broker. Earlier wills of the same client that
   * are pending or due have the names of their records as keys.
   */
  readonly delayedWills = new Map<string, SessionWill>()
  /** Delayed messages by their IDs, which are in the names of their records: see `publish/delay-message.ts`. */
  readonly delayedMessages = new Map<string, DelayedMessage>()
  /** Number of delayed messages by the names of their publishers' sessions. */
  readonly delayedByPublisher = new Map<string, number>()
  /** Large wills in memory whose records are not durable, by batch. */
  readonly unwritten = new PendingQueue<{ readonly batch: number; readonly will: SessionWill }>()
  readonly loads = new WillLoads<Session, Message>()
  /** Pending wills by the names of their records. */
  readonly pending = new Map<string, PendingWill>()
  /** Receivers of restored wills that were published before the number of shards changed, by the names of their records. */
  readonly remaining = new Map<string, RemainingReceivers>()
}
