// Remembers for messages of shared groups which members they were sent to before they moved to another member.
//
//   Message ──► { session of lamp-3, session of lamp-5 }     as long as the message is referenced, until the broker ends
//
// A message may return to a member that it was sent to. That member may have received it, so the message is marked as a
// duplicate, also in its record. A new session has received nothing yet [MQTT-3.3.1-3] [MQTT5-3.3.1-3], and neither has the next
// member that the message moves to.

import type { TopicFilter } from '../../../protocol/index.ts'
import { copyPublisherRights, copyWithTopic, type Message } from '../../messages/message.ts'
import type { PeerNumber } from '../../model/peer-names.ts'

export class SharedRedelivery<Session extends object> {
  readonly #sentTo = new WeakMap<Message, WeakSet<Session>>()
  /** Copies that are duplicates for one session only. */
  readonly #repeats = new WeakSet<Message>()

  /** The message was sent to this session, and moves to another one now. */
  recordSent(message: Message, session: Session): void {
    const known = this.#sentTo.get(message)
    if (known === undefined) this.#sentTo.set(message, new WeakSet([session]))
    else known.add(session)
  }

  /** Returns the message for this session: unchanged, or a copy with the correct duplicate mark. */
  markForSession(message: Message, session: Session): Message {
    const sentTo = this.#sentTo.get(message)
    if (sentTo === undefined) return message
    const isRepeat = sentTo.has(session)
    const hasRightMark = isRepeat ? message.isRepeat : !this.#repeats.has(message)
    if (hasRightMark) return message
    const copy = copyWithTopic(message, message.topic)
    copyPublisherRights(copy, message)
    copy.isRepeat = isRepeat
    this.#sentTo.set(copy, sentTo)
    if (isRepeat) this.#repeats.add(copy)
    return copy
  }
}

/** A message on its way to a member on another shard, in no queue meanwhile: see `shared/shared-handoff.ts`. */
export interface SharedHandoff {
  readonly key: { readonly shard: number; readonly name: string }
  /** The destination shard. */
  readonly to: PeerNumber
  /** `$share/name/filter`. */
  readonly filter: TopicFilter
  readonly message: Message
}

/** The queue of an ended session with messages for other members: see `shared/expired-session-redelivery.ts`. */
export interface EndedSessionQueue {
  /** Replaces its client ID. */
  readonly name: string
  /** Lowest sequence number of records that may exist. */
  from: number
  partsRead: number
  /** The queue is not read before this batch is durable, and not before `notBeforeMs`. */
  afterBatch: number
  notBeforeMs: number
  /** Since when members have too many queued messages to accept more; undefined: they have not. */
  fullQueuesSinceMs: number | undefined
  isBeingRead: boolean
}
