// What rules pass to the actions that send to services.

import type { Message, RuleActionFailure, RuleActions } from '../../core/index.ts'
import type { RuleEvent } from '../../rules/index.ts'
import type { RuleMap } from '../../values/index.ts'

/** QoS and flag RETAIN that a publication of a rule inherits from the message, unless the action sets them. */
export type Original = Pick<Message, 'qos' | 'retain'>

/** One result of a rule for an action. */
export interface ActionInput {
  readonly rule: string
  readonly output: RuleMap
  readonly actions: RuleActions
  /** The event for which the rule ran. */
  readonly event: RuleEvent
  readonly original: Original
}

/** Actions that send to services. */
export interface RuleSinks {
  /** Returns the client ID of the action queue; undefined if the action does not exist. */
  findActionQueue(action: string): string | undefined
  /** Stores one result. Returns undefined if it succeeded. */
  store(action: string, entry: ActionInput): RuleActionFailure | 'no-action' | undefined
  /** Stores the message of a rule that was stopped as a dead letter of the action. Returns undefined if it succeeded. */
  storeStopped(action: string, stopped: StoppedRule): RuleActionFailure | 'no-action' | undefined
  /** Called once per second while there are rules. */
  handleSecond(): void
}

/** A message for which a rule was stopped. */
export interface StoppedRule {
  readonly rule: string
  readonly event: RuleEvent
  readonly actions: RuleActions
  readonly why: string
}
