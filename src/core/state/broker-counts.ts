// Numbers for metrics since the start of this shard, and the events of dropped messages.

import { isInternalClient } from '../messages/internal-clients.ts'
import type { DropReason } from '../model/drop-reason.ts'
import { refusalCauses, type RefusalCause, type Refused, type RefusedPacket } from '../model/packet-refusal.ts'
import type { Message } from '../messages/message.ts'
import type { BrokerEvent } from '../model/outputs.ts'
import type { RuleTriggers } from './rule-triggers.ts'
import { createInternalSession, type Session } from './sessions/session.ts'

/** Maximum number of drops per interval that become events. There may be millions of drops; counters include all. */
const defaultDropEvents = 64
const dropEventWindowMs = 100

export interface BrokerCounts {
  publishesReceived: number
  publishesSent: number
  /** QoS 1 and 2 messages that were not sent at once: they wait for their client or for the in-flight window. */
  publishesLeftWaiting: number
  /** Times that deliveries to a client were put off: `deliveries_rate`. */
  deferredDeliveries: number
  subscriptionsRefusedByRate: number
  dropped: Record<DropReason, number>
  /** The part of `dropped` that made place in a full queue for newer messages. */
  droppedForNewer: number
  /** Messages of clients to topics without a subscriber on any shard. Not in `dropped`. */
  withoutSubscribers: number
  /** Refused packets of accepted clients. */
  refused: Record<RefusalCause, number>
}

/** Receivers of reports about drops. */
export interface DropReports {
  readonly events: BrokerEvent[]
  readonly triggers: RuleTriggers
  /** Maximum drop events in a tenth of a second; undefined: 64. */
  readonly maxEvents: number | undefined
}

export class BrokerCounters implements BrokerCounts {
  publishesReceived = 0
  publishesSent = 0
  publishesLeftWaiting = 0
  deferredDeliveries = 0
  subscriptionsRefusedByRate = 0
  readonly dropped = createDropCounts()
  droppedForNewer = 0
  withoutSubscribers = 0
  readonly refused = Object.fromEntries(refusalCauses.map((cause) => [cause, 0])) as Record<RefusalCause, number>
  readonly #clock: { readonly nowMs: number }
  readonly #events: BrokerEvent[]
  readonly #triggers: RuleTriggers
  readonly #maxEvents: number
  #dropEvents = 0
  #dropEventsSinceMs = 0
  #refusalEvents = 0
  #refusalEventsSinceMs = 0

  constructor(clock: { readonly nowMs: number }, { events, triggers, maxEvents = defaultDropEvents }: DropReports) {
    this.#clock = clock
    this.#events = events
    this.#triggers = triggers
    this.#maxEvents = maxEvents
  }

  /** `session`: for which the message was; undefined: for none in particular. `plugin`: that dropped it. */
  countDrop(session: Session | undefined, message: Message, reason: DropReason, plugin?: string): void {
    this.dropped[reason]++
    if (session !== undefined) countSessionDrop(session, reason)
    const { wanted } = this.#triggers
    if (wanted['delivery-dropped'] || wanted['message-dropped']) this.#recordDrop(session, message, reason)
    const { nowMs } = this.#clock
    if (nowMs - this.#dropEventsSinceMs >= dropEventWindowMs) {
      this.#dropEvents = 0
      this.#dropEventsSinceMs = nowMs
    }
    if (this.#dropEvents++ >= this.#maxEvents) return
    const clientId = session === undefined ? '' : session.clientId
    this.#events.push({ event: 'message-dropped', clientId, message, reason, plugin })
  }

  /** A full queue has dropped an older message, and stores a newer one. */
  countDropForNewer(session: Session, message: Message, reason: DropReason): void {
    this.droppedForNewer++
    this.countDrop(session, message, reason)
  }

  /** `clientId` is the name of a session. */
  countRefusal(clientId: string, packet: RefusedPacket, topic: string, { reason, cause, text }: Refused): void {
    this.refused[cause]++
    const { nowMs } = this.#clock
    if (nowMs - this.#refusalEventsSinceMs >= dropEventWindowMs) {
      this.#refusalEvents = 0
      this.#refusalEventsSinceMs = nowMs
    }
    if (this.#refusalEvents++ >= this.#maxEvents) return
    this.#events.push({ event: 'packet-refused', clientId, packet, topic, reason, cause, text })
  }

  #recordDrop(session: Session | undefined, message: Message, reason: DropReason): void {
    const triggers = this.#triggers
    const atMs = this.#clock.nowMs
    const { qos, retain } = message
    if (session === undefined) {
      if (triggers.wanted['message-dropped']) triggers.addMessageDropped(message, reason, atMs)
    } else if (triggers.wanted['delivery-dropped']) {
      triggers.addDelivery('delivery-dropped', session, { message, qos, retain, reason, atMs })
    }
  }
}

function countSessionDrop(session: Session, reason: DropReason): void {
  session.counts.dropped++
  if (!isInternalClient(session.clientId)) return
  session.internal ??= createInternalSession()
  session.internal.drops ??= new Map()
  session.internal.drops.set(reason, (session.internal.drops.get(reason) ?? 0) + 1)
}

function createDropCounts(): Record<DropReason, number> {
  return {
    'queue-full': 0,
    'memory-full': 0,
    expired: 0,
    'too-large': 0,
    'not-reading': 0,
    'rate-limited': 0,
    'storage-full': 0,
    'no-retained-room': 0,
    'session-ended': 0,
    'peer-behind': 0,
    'not-allowed': 0,
    plugin: 0,
  }
}
