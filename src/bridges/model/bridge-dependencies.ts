// Dependencies of a bridge, which has no clock, timer or socket of its own.

import type { PacketLimits, TopicFilter } from '../../protocol/index.ts'
import type { ByteStream } from '../../transports/index.ts'
import type { BridgeEvent, BridgeStatus } from './status.ts'

export interface DialHandlers {
  /** The connection is open. Must set `onData` and `onClose` of the stream before it returns. */
  onOpen(stream: ByteStream): void
  /** `message`: a sentence for administrators, without secrets. */
  onProblem(problem: { readonly message: string }): void
}

export interface Dialing {
  /** No handler is called any more, and the connection is closed. */
  abandon(): void
}

/** Opens connections to remote brokers. */
export interface BridgeConnector {
  /**
   * `server`: a URL of the settings, `link`: their data for the connector. Exactly one of the handlers is called, later
   * and never within the call.
   */
  dial(server: string, link: object, handlers: DialHandlers): Dialing
}

/** State of the bridge's session in this broker; read from the core at once. */
export interface LocalSessionStatus {
  readonly subscriptions: ReadonlyMap<TopicFilter, LocalSubscription>
  /** QoS 2 packet identifiers from the remote broker without PUBREL. */
  readonly unreleased: readonly number[]
  /** Queued and in-flight messages; 0 if there is no session. */
  readonly spooled: number
  /** When the oldest of them was published; undefined: there is none, or it is being read. */
  readonly oldestAtMs: number | undefined
  /** Messages dropped because the queue was full or they expired, since the broker started. */
  readonly dropped: number
  /** Drops by reason. */
  readonly drops: ReadonlyMap<string, number>
}

type SpoolStatus = Pick<BridgeStatus, 'spooled' | 'oldestAtMs' | 'spoolDropped' | 'spoolDrops'>

/** In the form of the status. */
export function toSpoolStatus({ spooled, oldestAtMs, dropped, drops }: LocalSessionStatus): SpoolStatus {
  return { spooled, oldestAtMs, spoolDropped: dropped, spoolDrops: Object.fromEntries(drops) }
}

export interface LocalSubscription {
  readonly qos: number
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  /** Messages published with a lower QoS have this one. */
  readonly raisesTo: number
}

/** The broker of the bridge. */
export interface LocalBroker {
  /** Opens a connection to the bridge's session; the other end is a client of the shard. */
  open(): ByteStream
  readSessionStatus(): LocalSessionStatus
  /** Limits of messages of the remote broker, as for clients. */
  readonly limits: PacketLimits
  /** Maximum unacknowledged messages of one client. */
  readonly receiveMaximum: number
}

export interface BridgeDependencies {
  readonly connector: BridgeConnector
  readonly broker: LocalBroker
  nowMs(): number
  /** 0 to 1. */
  random(): number
  /** Soon, never within the call: at the end of the current callback. */
  later(work: () => void): void
  /** `Bridge.tick` must be called at this time, which replaces the earlier one. Infinity: never. */
  wakeAt(timeMs: number): void
  /** For the log and for alarms. */
  emit(event: BridgeEvent): void
}
