// The core is created with its rule hook, before the rules.

import type { MatchedRule, Message, RuleActions, RuleHook, RuleTrigger, RuleTriggerKind } from '../../core/index.ts'

/** The hook of a core without rules so far. */
export class LateRuleHook implements RuleHook {
  hook: RuleHook | undefined

  run(rules: readonly MatchedRule[], message: Message, actions: RuleActions): number {
    return this.hook?.run(rules, message, actions) ?? 0
  }

  runTriggers(triggers: readonly RuleTrigger[], actions: RuleActions): number {
    return this.hook?.runTriggers(triggers, actions) ?? triggers.length
  }

  recordLost(lost: ReadonlyMap<RuleTriggerKind, number>): void {
    this.hook?.recordLost(lost)
  }
}
