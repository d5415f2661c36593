// Triggers of rules, from where they are recorded until rules have run for them: most often the end of the same input.
//
//   handlers ──add──► waiting ──take──► rule hook, as many as it has time for
//                        ^────────keep──────┘ the rest, with bytes of their own
//
// A flag for each kind says whether any rule asks for it. Nothing else is done where none does.

import type { BufferPool } from '../model/buffer-pool.ts'
import { copyOut, type Message } from '../model/message.ts'
import { messageSize } from '../model/message-size.ts'
import {
  messageOfTrigger,
  ruleTriggerKinds,
  type DeliveryTrigger,
  type MessageDroppedTrigger,
  type RuleTrigger,
  type RuleTriggerKind,
} from '../model/rule-trigger.ts'
import { isBridgeClient } from '../model/bridge-client-id.ts'
import type { Session } from './sessions/session.ts'

/** Triggers that wait for rules, and bytes of their messages. What comes beyond is lost and counted. */
export const maxWaitingTriggers = 100_000
export const maxWaitingTriggerBytes = 16_777_216

export class RuleTriggers {
  /** Read by handlers on the way of every message: a plain object with one field for each kind. */
  readonly wanted: Record<RuleTriggerKind, boolean> = noneWanted()
  #waiting: RuleTrigger[] = []
  #lost: Map<RuleTriggerKind, number> | undefined

  setWanted(kinds: ReadonlySet<RuleTriggerKind>): void {
    for (const kind of ruleTriggerKinds) this.wanted[kind] = kinds.has(kind)
    this.#waiting = this.#waiting.filter(({ kind }) => this.wanted[kind])
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0 || this.#lost !== undefined
  }

  /** To be called only where `wanted` says so. */
  add(trigger: RuleTrigger): void {
    if (this.#waiting.length >= maxWaitingTriggers) this.#lose(trigger.kind)
    else this.#waiting.push(trigger)
  }

  /** Not of what rules and the broker publish: rules that answer each other would never end. */
  addDelivery(
    kind: DeliveryTrigger['kind'],
    session: Session,
    of: Pick<DeliveryTrigger, 'message' | 'qos' | 'retain' | 'atMs'> &
      Partial<Pick<DeliveryTrigger, 'properties' | 'reason'>>,
  ): void {
    const { clientId, identity, connection } = session
    if (of.message.publisher === '' || isBridgeClient(clientId)) return
    const { properties, reason } = of
    this.add({ kind, clientId, username: identity.username, connection, ...of, properties, reason })
  }

  /** As above. */
  addMessageDropped(message: Message, reason: MessageDroppedTrigger['reason'], atMs: number): void {
    if (message.publisher !== '') this.add({ kind: 'message-dropped', atMs, message, reason })
  }

  /** All that wait, in order. */
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

  /** What rules had no time for comes first the next time. The chunks of their messages are reused: bytes are copied. */
  keep(rest: readonly RuleTrigger[], buffers: BufferPool): void {
    const kept: RuleTrigger[] = []
    let bytes = 0
    let last: Message | undefined
    for (const trigger of rest) {
      const message = messageOfTrigger(trigger)
      if (message !== undefined && message !== last)
        bytes += messageSize(message.topic.name, message.payloadBytes, message.properties)
      if (bytes > maxWaitingTriggerBytes) {
        this.#lose(trigger.kind)
        continue
      }
      if (message !== undefined) copyOut(message, buffers)
      last = message ?? last
      kept.push(trigger)
    }
    this.#waiting = kept.concat(this.#waiting)
  }

  #lose(kind: RuleTriggerKind): void {
    this.#lost ??= new Map()
    this.#lost.set(kind, (this.#lost.get(kind) ?? 0) + 1)
  }
}

function noneWanted(): Record<RuleTriggerKind, boolean> {
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
