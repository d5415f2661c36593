// Messages of shared groups that went from one member to another: to whom each was sent before it moved on.
//
//   Message ──► { session of lamp-3, session of lamp-5 }     as long as somebody holds the message, and until the broker ends
//
// A message may come back to a member that it was sent to. That member may have heard it, so it is told that this is a
// repeat, and so is whoever reads the record of it after a crash. Nobody who has begun a new session has been sent anything
// in it yet [MQTT-3.3.1-3] [MQTT5-3.3.1-3], nor has the member that it goes on to from there.

import type { TopicFilter } from '../../../protocol/index.ts'
import { copyPublisherRights, withTopic, type Message } from '../../model/message.ts'
import type { PeerNumber } from '../../model/peer-messages.ts'

export class SharedRedelivery<Session extends object> {
  readonly #sentTo = new WeakMap<Message, WeakSet<Session>>()
  /** Repeats of what is none for others. */
  readonly #repeats = new WeakSet<Message>()

  /** It was sent to this session, and goes to another one now. */
  noteSent(message: Message, session: Session): void {
    const known = this.#sentTo.get(message)
    if (known === undefined) this.#sentTo.set(message, new WeakSet([session]))
    else known.add(session)
  }

  /** As the session is to get it: the message itself, or one that says that it is a repeat, or is none any more. */
  forSession(message: Message, session: Session): Message {
    const sentTo = this.#sentTo.get(message)
    if (sentTo === undefined) return message
    const isRepeat = sentTo.has(session)
    const isSaid = isRepeat ? message.isRepeat : !this.#repeats.has(message)
    if (isSaid) return message
    const told = withTopic(message, message.topic)
    copyPublisherRights(told, message)
    told.isRepeat = isRepeat
    this.#sentTo.set(told, sentTo)
    if (isRepeat) this.#repeats.add(told)
    return told
  }
}

/** On its way to a member on another shard, and in nobody's queue: see `shared/shared-handoff.ts`. */
export interface SharedHandoff {
  readonly key: { readonly shard: number; readonly name: string }
  /** The shard that it goes to. */
  readonly to: PeerNumber
  /** `$share/name/filter`. */
  readonly filter: TopicFilter
  readonly message: Message
}

/** Of a session that has ended, and of which others may get something: see `shared/expired-session-redelivery.ts`. */
export interface EndedSessionQueue {
  /** In place of its client id. */
  readonly name: string
  /** Nothing with a lower sequence is there any more. */
  from: number
  partsRead: number
  /** It is not to be read before this batch is on disk, and not before this time. */
  afterBatch: number
  notBeforeMs: number
  /** Since when members have had too much before them to take more of it; undefined: they have not. */
  crowdedSinceMs: number | undefined
  isAsked: boolean
}
