// What a shard is given of the world.

import type { RuleHook } from '../../core/index.ts'
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
  /** Runs rules. */
  readonly ruleHook: RuleHook
  /** By its number, of whichever shard; undefined: it is closed. */
  listenerOf(number: number): ShardListener | undefined
  /** A stream of another shard that is none of a client: it is taken. `number`: of its listener. */
  isTaken(stream: ByteStream, number: number): boolean
  /** Random text: nobody is to guess the client ids that are assigned. */
  readonly identity: string
  /** At the end of the turn that brought the first message of all, from a client or from another shard. */
  noteFirstMessage(): void
  alarm(name: AlarmName, message: string): void
  /** What the alarm of that name was about is in order again. */
  alarmOver(name: AlarmName, message: string): void
  /** A mistake of ours: the thread ends and is started again. */
  fail(error: unknown): void
}
