// Triggers of rules, from their recording until the rules have run: usually at the end of the same input.
//
//   handlers ──add──► waiting ──take──► rule hook, as many as it has time for
//                        ^────────keep──────┘ the rest, with copied bytes
//
// A flag for each kind says whether any rule uses it. Kinds that no rule uses cost nothing else.

import type { BufferPool } from '../messages/buffer-pool.ts'
import { copyOut, type Message } from '../messages/message.ts'
import { measureMessage } from '../messages/measure-message.ts'
import {
  findTriggerMessage,
  ruleTriggerKinds,
  type DeliveryTrigger,
  type MessageDroppedTrigger,
  type RuleTrigger,
  type RuleTriggerKind,
} from '../model/rule-trigger.ts'
import { isInternalClient } from '../messages/internal-clients.ts'
import type { CountedTopic } from '../model/rule-hook.ts'
import type { Session } from './sessions/session.ts'

/** Maximum number of waiting triggers, and maximum bytes of their messages. Further ones are dropped and counted. */
export const maxWaitingTriggers = 100_000
export const maxWaitingTriggerBytes = 16_777_216

export class RuleTriggers {
  /** Read on the message path: a plain object with one field for each kind. */
  readonly wanted: Record<RuleTriggerKind, boolean> = createNoneWanted()
  /** Kinds of triggers that rules use. If messages of topics are counted, further kinds are needed. */
  #kinds: ReadonlySet<RuleTriggerKind> = new Set()
  /** By topic; undefined: none is counted. */
  #counted: ReadonlyMap<string, CountedTopic> | undefined
  #waiting: RuleTrigger[] = []
  #lost: Map<RuleTriggerKind, number> | undefined

  setWanted(kinds: ReadonlySet<RuleTriggerKind>, counted: ReadonlyMap<string, CountedTopic>): void {
    this.#kinds = kinds
    this.#counted = counted.size === 0 ? undefined : counted
    for (const kind of ruleTriggerKinds) this.wanted[kind] = kinds.has(kind)
    if (this.#counted !== undefined) this.wanted['message-delivered'] = this.wanted['message-dropped'] = true
    this.#waiting = this.#waiting.filter(({ kind }) => kinds.has(kind))
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0 || this.#lost !== undefined
  }

  /** Must be called only if `wanted` is set. */
  add(trigger: RuleTrigger): void {
    if (this.#waiting.length >= maxWaitingTriggers) this.#countLost(trigger.kind)
    else this.#waiting.push(trigger)
  }

  /** Not for messages that rules and the broker publish: rules that trigger each other would never end. */
  addDelivery(
    kind: DeliveryTrigger['kind'],
    session: Session,
    details: Pick<DeliveryTrigger, 'message' | 'qos' | 'retain' | 'atMs'> &
      Partial<Pick<DeliveryTrigger, 'properties' | 'reason'>>,
  ): void {
    const { clientId, identity, connection } = session
    if (kind === 'message-delivered') this.#countSent(details)
    if (!this.#kinds.has(kind)) return
    if (details.message.publisher === '' || isInternalClient(clientId)) return
    const { properties, reason } = details
    this.add({ kind, clientId, username: identity.username, connection, ...details, properties, reason })
  }

  /** Not for messages that rules and the broker publish, for the same reason. */
  addMessageDropped(message: Message, reason: MessageDroppedTrigger['reason'], atMs: number): void {
    const counted = this.#counted?.get(message.topic.name)
    if (counted !== undefined) counted.dropped++
    if (message.publisher !== '' && this.#kinds.has('message-dropped'))
      this.add({ kind: 'message-dropped', atMs, message, reason })
  }

  #countSent({ message, qos }: Pick<DeliveryTrigger, 'message' | 'qos'>): void {
    const counted = this.#counted?.get(message.topic.name)
    if (counted !== undefined) counted.sent[qos]++
  }

  /** Returns all waiting triggers, in order. */
  take(): readonly RuleTrigger[] {
    const taken = this.#waiting
    this.#waiting = []
    return taken
  }

  takeLost(): ReadonlyMap<RuleTriggerKind, number> | undefined {
    const lost = this.#lost
    this.#lost = undefined
    return lost
  }

  /**
   * Keeps the triggers that rules had no time for; they come first next time. Their bytes are copied, because the
   * chunks are used again.
   */
  requeue(rest: readonly RuleTrigger[], buffers: BufferPool): void {
    const kept: RuleTrigger[] = []
    let bytes = 0
    let last: Message | undefined
    for (const trigger of rest) {
      const message = findTriggerMessage(trigger)
      if (message !== undefined && message !== last)
        bytes += measureMessage(message.topic.name, message.payloadBytes, message.properties)
      if (bytes > maxWaitingTriggerBytes) {
        this.#countLost(trigger.kind)
        continue
      }
      if (message !== undefined) copyOut(message, buffers)
      last = message ?? last
      kept.push(trigger)
    }
    this.#waiting = kept.concat(this.#waiting)
  }

  #countLost(kind: RuleTriggerKind): void {
    this.#lost ??= new Map()
    this.#lost.set(kind, (this.#lost.get(kind) ?? 0) + 1)
  }
}

function createNoneWanted(): Record<RuleTriggerKind, boolean> {
  return {
    'client-connected': false,
    'client-connack': false,
    'client-disconnected': false,
    authentication: false,
    authorization: false,
    'session-subscribed': false,
    'session-unsubscribed': false,
    'message-delivered': false,
    'message-acked': false,
    'message-dropped': false,
    'delivery-dropped': false,
    'alarm-activated': false,
    'alarm-deactivated': false,
  }
}
