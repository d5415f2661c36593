// What the actions of a shard need of the shard and of its rules.

import type { PeerNumber } from '../../core/index.ts'
import type { AlarmName, Log } from '../../telemetry/index.ts'
import type { ActionBroker } from '../action-broker.ts'
import type { EvaluateAgain } from '../results/retry-letter.ts'

export interface ActionManagerDependencies {
  readonly broker: ActionBroker
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
  readonly evaluate: EvaluateAgain
  /** Runs `work`. The rule does not run for the messages and events of `work`. */
  withoutRule(rule: string, work: () => void): void
}
