// Rules, as far as the core knows them: the rule hook compiles and runs them.

import type { CountedTopic, MatchedRule, RuleHook } from '../model/rule-hook.ts'
import type { RuleTriggerKind } from '../model/rule-trigger.ts'
import { RuleTriggers } from './rule-triggers.ts'

export class RuleState {
  /** Runs rules; undefined if there are none. */
  readonly hook: RuleHook | undefined
  /** Recorded events other than messages for which rules run. */
  readonly triggers = new RuleTriggers()
  /** Rules of the message that is being routed; undefined: none. */
  matched: readonly MatchedRule[] | undefined = undefined
  /**
   * Set while rules run. True: they run for a message of QoS 1 or 2, whose publisher has waited until the action queues had space, so all
   * its results are stored. False: for an event or a message of QoS 0, for which no publisher waits.
   */
  isAdmitted: boolean | undefined = undefined
  /**
   * Number of rules that led to the message that is being routed, one after the other, also through delayed messages. 0: a client, or
   * another source, published it.
   */
  depth = 0
  /**
   * Set while rules run: whether their message is published again if the process fails. `publisher`: no, and the publisher's acknowledgement
   * waits for the results. `stored-message`: no, it is a will or a delayed message. `repeatable`: its client sends it again, or it has no promise.
   */
  resultsOf: 'publisher' | 'stored-message' | 'repeatable' | undefined = undefined
  /** Work of all runs so far: see `RuleHook.run`. */
  costlySteps = 0
  /** True if a full action queue has space again: connections that wait for actions are handled again. */
  hasActionCapacity = false

  constructor(hook: RuleHook | undefined) {
    this.hook = hook
  }

  /** Called when rules were replaced. Match plans contain the rules by topic; `triggers` contains the other events that rules need. */
  setWanted(kinds: ReadonlySet<RuleTriggerKind>, countedTopics: ReadonlyMap<string, CountedTopic>): void {
    this.triggers.setWanted(kinds, countedTopics)
    // The rules that connections wait for may have been removed.
    this.hasActionCapacity = true
  }
}
