// What one connection of a bridge needs of its bridge.

import type { ConnectionMonitor } from '../mqtt-client/index.ts'
import type { ByteStream } from '../transports/index.ts'
import type { ReconnectBackoff } from './connection/reconnect-backoff.ts'
import type { VersionNegotiation } from './connection/version-negotiation.ts'
import type { BridgeDependencies } from './model/bridge-dependencies.ts'
import type { BridgeCounters, BridgeState } from './model/status.ts'
import type { SubscriptionState } from './subscriptions/bridge-subscription-state.ts'
import type { RejectedMessages } from './transfer/rejected-messages.ts'

/** The bridge of a connection. Each of these calls may close the connection. */
export interface ConnectionOwner {
  /** `dueAtMs`: when `handleTimeout` is to be called, unless the state changes before. */
  moveTo(state: BridgeState, dueAtMs: number): void
  /** In the same state, `handleTimeout` is to be called at this time or earlier. */
  waitAtMost(dueAtMs: number): void
  fail(why: string): void
  /** The same server is to be dialed after `pauseMs`. `isCleared`: see `Step`. */
  reconnect(options: { readonly isCleared: boolean; readonly pauseMs: number }): void
  /** The preferred server has accepted a connection. */
  changeToPreferred(stream: ByteStream): void
  /** Undefined: no warning. */
  warnIf(text: string | undefined): void
  /** A packet of either side was handled. */
  onPacketHandled(): void
  /** A `dueAtMs` has changed. */
  scheduleTick(): void
}

/** What all connections of a bridge share. */
export interface SharedParts {
  readonly dependencies: BridgeDependencies
  readonly counters: BridgeCounters
  readonly rejectedMessages: RejectedMessages
  readonly subscriptionState: SubscriptionState
  readonly backoff: ReconnectBackoff
  readonly versions: VersionNegotiation
  /** It limits how often the bridge reconnects, so it is not one of a connection. */
  readonly monitor: ConnectionMonitor
}
