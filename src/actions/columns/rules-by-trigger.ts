// Rules by the events for which they run.

import { ruleTriggerKinds, type RuleTriggerKind } from '../../core/index.ts'
import type { CompiledRule } from '../../rules/index.ts'
import { eventOfTrigger } from './trigger-columns.ts'

/** Returns the enabled rules by their triggers. A rule that names an event twice runs once. */
export function groupRulesByTrigger<Rule extends { readonly compiled: Pick<CompiledRule, 'events'> }>(
  enabled: readonly string[],
  rules: ReadonlyMap<string, Rule>,
): ReadonlyMap<RuleTriggerKind, readonly Rule[]> {
  const found = new Map<RuleTriggerKind, Rule[]>()
  for (const id of enabled) {
    const rule = rules.get(id)
    if (rule === undefined) continue
    const events = new Set(rule.compiled.events)
    for (const kind of ruleTriggerKinds) {
      if (!events.has(eventOfTrigger[kind])) continue
      const known = found.get(kind)
      if (known === undefined) found.set(kind, [rule])
      else known.push(rule)
    }
  }
  return found
}
