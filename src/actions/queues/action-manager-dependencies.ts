// What actions use of the broker and of the rules.

import type { ActionBroker } from '../action-broker.ts'
import type { EvaluateAgain } from '../results/retry-letter.ts'

export interface ActionManagerDependencies {
  readonly broker: ActionBroker
  /** Counts a result of the rule that its service has accepted or finally refused. */
  recordDelivered(rule: string, isDone: boolean, why: string): void
  recordFallbackFailure(rule: string, why: string): void
  readonly evaluate: EvaluateAgain
  /** Runs `work`. The rule does not run for the messages and events of `work`. */
  runWithoutRule(rule: string, work: () => void): void
}
