// Dependencies of a shard.

import type { PeerNumber, RuleHook } from '../../core/index.ts'
import type { Store } from '../../storage/index.ts'
import type { AlarmName, Counters, Log } from '../../telemetry/index.ts'
import type { ByteStream } from '../../transports/index.ts'
import type { Time } from './clock.ts'
import type { ShardListener, ShardStart } from '../messages/messages.ts'

export interface ShardDependencies {
  readonly start: ShardStart
  readonly store: Store
  readonly clock: Time
  readonly counters: Counters
  readonly log: Log
  readonly ruleHook: RuleHook
  /** Returns a listener of any shard by its number. Undefined: the listener is closed. */
  findListener(number: number): ShardListener | undefined
  /** Returns the listener of this node with the kind and the name of a listener of another node. */
  findListenerByName(kind: string, name: string): ShardListener | undefined
  /** Accepts a relayed stream that carries datagrams of a gateway and belongs to no client. Returns false for other streams. `number`: its listener. */
  acceptGatewayStream(stream: ByteStream, number: number): boolean
  /** Random text, so that assigned client IDs cannot be guessed. */
  readonly identity: string
  /** Called at the end of the turn with the first message, from a client or from another shard. */
  onFirstMessage(): void
  /** Called when bytes of a peer could not be read, and the link to it has ended. The node opens a new one. */
  reportLinkFailure(peer: PeerNumber): void
  raiseAlarm(name: AlarmName, message: string): void
  endAlarm(name: AlarmName, message: string): void
  /** Reports an internal error: the thread ends and is restarted. */
  fail(error: unknown): void
}
