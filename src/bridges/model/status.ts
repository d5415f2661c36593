// State of a bridge, for monitoring.

import type { ProtocolVersion } from '../../protocol/index.ts'

/**
 * `off`: not enabled. `preparing`: the local session is being set up. `connecting`: the remote broker is dialed or has
 * not responded to CONNECT. `connected`: messages are forwarded. `draining`: in-flight messages are completed before other
 * settings apply. `waiting`: the bridge waits for its next attempt.
 */
export type BridgeState = 'off' | 'preparing' | 'connecting' | 'connected' | 'draining' | 'waiting'

/** Reason why a message was not forwarded. */
export type BridgeDrop =
  /** No rule matches its topic any more. */
  | 'no-rule'
  /** The rule's result is not a valid topic. */
  | 'unmappable'
  /** The message exceeds the maximum packet size of the other side, or of this broker. */
  | 'too-large'
  /** The message has passed this broker before, or has passed too many bridges. */
  | 'loop'
  /** The remote broker rejected it permanently. */
  | 'refused-there'
  /** This broker rejected it: it is not authorized, or its topic is reserved. */
  | 'refused-here'

export interface BridgeCounters {
  /** Messages to the remote broker, including redeliveries. */
  sent: number
  sentAgain: number
  sentBytes: number
  /** QoS 1 and 2 messages that the remote broker has acknowledged. */
  acknowledged: number
  /** Messages from the remote broker. */
  received: number
  receivedBytes: number
  /** Connections that the remote broker accepted. */
  connects: number
  /** Connections and attempts that failed. */
  failures: number
  /** Packets that the remote broker should not have sent. */
  unexpected: number
  readonly dropped: Record<BridgeDrop, number>
}

export interface BridgeStatus {
  readonly name: string
  readonly state: BridgeState
  /** Start of the current state. */
  readonly sinceMs: number
  /** The current URL. */
  readonly server: string
  /** The current MQTT version; 5 also if the remote broker is Godwit and the bridge uses extensions of 5. */
  readonly version: ProtocolVersion
  /** Number of attempts since the last connection. */
  readonly attempts: number
  /** Why the last connection or attempt failed, as a sentence; undefined: none has. */
  readonly lastError: string | undefined
  readonly lastErrorAtMs: number | undefined
  /** Messages that were sent and are not acknowledged. */
  readonly inFlight: number
  /** Messages in the queue of the bridge. */
  readonly spooled: number
  /** When the oldest message in the queue was published. */
  readonly oldestAtMs: number | undefined
  /** Messages that were dropped while queued, or not queued at all. */
  readonly spoolDropped: number
  /** Drops by reason. */
  readonly spoolDrops: Readonly<Record<string, number>>
  /** Filters of clients that are subscribed at the remote broker, directly or covered by others. */
  readonly passedOn: number
  /** Filters of clients that are not subscribed at the remote broker: above the limit, or refused there. */
  readonly notPassedOn: number
  readonly counters: Readonly<BridgeCounters>
}

export type BridgeEvent =
  | {
      readonly event: 'connected'
      readonly server: string
      readonly sessionPresent: boolean
      readonly version: ProtocolVersion
    }
  /** `isNew`: it differs from the last reason. */
  | { readonly event: 'disconnected'; readonly server: string; readonly why: string; readonly isNew: boolean }
  /** A persistent problem: a refused subscription, a loop. */
  | { readonly event: 'warning'; readonly text: string }
  /** A harmless difference from the configuration. */
  | { readonly event: 'notice'; readonly text: string }

export function createBridgeCounters(): BridgeCounters {
  return {
    sent: 0,
    sentAgain: 0,
    sentBytes: 0,
    acknowledged: 0,
    received: 0,
    receivedBytes: 0,
    connects: 0,
    failures: 0,
    unexpected: 0,
    dropped: {
      'no-rule': 0,
      unmappable: 0,
      'too-large': 0,
      loop: 0,
      'refused-there': 0,
      'refused-here': 0,
    },
  }
}
