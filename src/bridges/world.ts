// What a bridge needs of the world. It has no clock, no timer and no socket of its own.

import type { PacketLimits, TopicFilter } from '../protocol/index.ts'
import type { ByteStream } from '../transports/index.ts'
import type { BridgeEvent, BridgeStatus } from './status.ts'

export interface DialHandlers {
  /** The connection is there. `onData` and `onClose` of the stream are set before this returns. */
  onOpen(stream: ByteStream): void
  /** `message`: a sentence for the operator. It holds no secret. */
  onProblem(problem: { readonly message: string }): void
}

export interface Dialing {
  /** Nobody is called any more, and what was open is closed. */
  abandon(): void
}

/** Opens connections to other brokers. */
export interface BridgeConnector {
  /**
   * `server`: a URL of the settings, `link`: what they have for the connector. Exactly one of the handlers is called,
   * later and never from within the call.
   */
  dial(server: string, link: object, handlers: DialHandlers): Dialing
}

/** How the session stands that the bridge has in this broker; a look at the core, at once. */
export interface LocalSessionStatus {
  readonly subscriptions: ReadonlyMap<TopicFilter, LocalSubscription>
  /** QoS 2 packet ids from the remote broker that it has not released. */
  readonly unreleased: readonly number[]
  /** Messages in the spool, those under way included; 0 where there is no session. */
  readonly spooled: number
  /** When the oldest of them was published; undefined: there is none, or it is still being looked for. */
  readonly oldestAtMs: number | undefined
  /** Messages that the spool had no room for, or that were too old, since this broker was started. */
  readonly dropped: number
  /** The same by reason. */
  readonly drops: ReadonlyMap<string, number>
}

type SpoolStatus = Pick<BridgeStatus, 'spooled' | 'oldestAtMs' | 'spoolDropped' | 'spoolDrops'>

/** As the bridge shows it. */
export function spoolOf({ spooled, oldestAtMs, dropped, drops }: LocalSessionStatus): SpoolStatus {
  return { spooled, oldestAtMs, spoolDropped: dropped, spoolDrops: Object.fromEntries(drops) }
}

export interface LocalSubscription {
  readonly qos: number
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  /** What is published with less comes with so much. */
  readonly raisesTo: number
}

/** The broker that the bridge belongs to. */
export interface LocalBroker {
  /** Our end of a connection of the bridge to its session; the other end is a client of the shard. */
  open(): ByteStream
  sessionStatus(): LocalSessionStatus
  /** What is taken from the remote broker as from any client. */
  readonly limits: PacketLimits
  /** Unacknowledged messages that the core takes from one client. */
  readonly receiveMaximum: number
}

export interface BridgeDependencies {
  readonly connector: BridgeConnector
  readonly broker: LocalBroker
  nowMs(): number
  /** 0 to 1. */
  random(): number
  /** Soon, and never from within the call: the end of what is done now. */
  later(work: () => void): void
  /** `Bridge.tick` is to be called at this time; it replaces what was said before. Infinity: at no time. */
  wakeAt(timeMs: number): void
  /** For the log and for alarms. */
  emit(event: BridgeEvent): void
}
