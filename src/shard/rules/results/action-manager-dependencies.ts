// What the actions of a shard need of the shard and of its rules.

import type { BrokerCore, Command, CommandResult, PeerNumber } from '../../../core/index.ts'
import type { AlarmName, Log } from '../../../telemetry/index.ts'
import type { ByteStream } from '../../../transports/index.ts'
import type { ShardListener } from '../../messages/messages.ts'
import type { EvaluateAgain } from './retry-letter.ts'

export interface ActionManagerDependencies {
  readonly shard: {
    readonly core: Pick<BrokerCore, 'view'>
    readonly commands: { run(command: Command): Promise<CommandResult> }
    openConnection(stream: ByteStream, listener: ShardListener): unknown
  }
  readonly own: PeerNumber
  readonly shards: number
  readonly nodeName: string
  readonly dataDirectory: string
  readonly log: Log
  nowMs(): number
  raiseAlarm(name: AlarmName, message: string): void
  endAlarm(name: AlarmName, message: string): void
  fail(error: unknown): void
  noteDelivered(rule: string, isDone: boolean, why: string): void
  noteFallbackFailure(rule: string, why: string): void
  /** Adds an entry to the timelines of publishers that wait. */
  noteWaiting(clientIds: readonly string[], text: string): void
  readonly evaluate: EvaluateAgain
  /** Runs `work`. The rule does not run for the messages and events of `work`. */
  withoutRule(rule: string, work: () => void): void
}
