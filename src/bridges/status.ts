// What a bridge shows of itself.

import type { ProtocolVersion } from '../protocol/index.ts'

/**
 * `off`: not enabled. `preparing`: its session here is being made ready. `connecting`: the remote broker is dialed or has
 * not answered CONNECT. `connected`: messages go. `draining`: what is under way is waited for, before other settings are
 * in force. `waiting`: for the next attempt.
 */
export type BridgeState = 'off' | 'preparing' | 'connecting' | 'connected' | 'draining' | 'waiting'

/** Why a message went no further. */
export type BridgeDrop =
  /** No rule is for its topic any more. */
  | 'no-rule'
  /** What the rule makes of its topic is no topic. */
  | 'unmappable'
  /** The other side, or this broker, takes nothing so large. */
  | 'too-large'
  /** It has been at this broker before, or has gone over too many bridges. */
  | 'loop'
  /** The remote broker does not take it, and said so for good. */
  | 'refused-there'
  /** This broker does not take it: it is not allowed, or its topic is the broker's own. */
  | 'refused-here'

export interface BridgeCounters {
  /** Messages to the remote broker, those that were sent again included. */
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
  /** Connections, attempts included, that ended otherwise than by our will. */
  failures: number
  /** Packets that nothing had asked for. */
  unexpected: number
  readonly dropped: Record<BridgeDrop, number>
}

export interface BridgeStatus {
  readonly name: string
  readonly state: BridgeState
  /** Since when it is in this state. */
  readonly sinceMs: number
  /** The URL that it is connected to, or tries. */
  readonly server: string
  /** The version of MQTT that it speaks with that: 5 also where the remote broker is a Godwit. */
  readonly version: ProtocolVersion
  /** Attempts since the last connection. */
  readonly attempts: number
  /** Why the last connection or attempt ended, as a sentence; undefined: none has. */
  readonly lastError: string | undefined
  readonly lastErrorAtMs: number | undefined
  /** Sent and not acknowledged. */
  readonly inFlight: number
  readonly spooled: number
  readonly oldestAtMs: number | undefined
  /** Messages that waited here and did not go, or had no room to wait. */
  readonly spoolDropped: number
  /** The same by reason. */
  readonly spoolDrops: Readonly<Record<string, number>>
  /** Filters of clients here that the bridge has subscribed to there, or that lie within those. */
  readonly passedOn: number
  /** For which there was no room, or that the remote broker refused. */
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
  /** `isNew`: it is not what the last one said. */
  | { readonly event: 'disconnected'; readonly server: string; readonly why: string; readonly isNew: boolean }
  /** Something goes on that is not as it was meant: a subscription was refused, messages go round. */
  | { readonly event: 'warning'; readonly text: string }
  /** Something is otherwise than it is configured, and well so. */
  | { readonly event: 'notice'; readonly text: string }

export function newBridgeCounters(): BridgeCounters {
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
