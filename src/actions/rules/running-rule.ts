// A rule of a shard, as it runs: its compiled statement, its compiled actions and its counters.

import type { MatchedRule, RuleActions } from '../../core/index.ts'
import type { CompiledRule, HostFunctions, RuleEvent } from '../../rules/index.ts'
import type { RuleMap } from '../../values/index.ts'
import type { Original } from '../results/action-input.ts'
import type { ActionOutcome, RuleStatistics } from '../statistics/rule-statistics.ts'

/** The context in which a rule runs, in addition to the event. */
export interface RunContext {
  readonly original: Original
  readonly actions: RuleActions
}

export interface ActionRun extends RunContext {
  /** The event for which the rule ran. */
  readonly event: RuleEvent
}

/** Runs an action for one result of its rule. */
export type RunAction = (output: RuleMap, actionRun: ActionRun) => ActionOutcome

export interface NumberedAction {
  /** Index of the counters of the action. */
  readonly counterIndex: number
  readonly run: RunAction
}

export interface CompiledAction extends NumberedAction {
  readonly fallbacks: readonly NumberedAction[]
}

export interface RunningRule extends MatchedRule {
  /** Rules that this one triggers by `republish` add the queues of their actions. */
  readonly actionQueues: string[]
  /** IDs of the actions that send to services, without fallbacks. */
  readonly sinkActions: readonly string[]
  /** Undefined: the rule belongs to no namespace. */
  readonly namespace: string | undefined
  readonly host: HostFunctions
  readonly compiled: CompiledRule
  readonly actions: readonly CompiledAction[]
  readonly stopsAtFailure: boolean
  readonly statistics: RuleStatistics
  /** Prevents a rule from running for its own publications. */
  isRunning: boolean
}
