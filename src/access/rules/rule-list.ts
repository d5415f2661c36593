// Rules about the same clients, in their order. A few are gone through one by one; many get an index.

import { matchesRule, type CompiledRule, type Search } from './compiled-rule.ts'
import { RuleIndex } from './rule-index.ts'

/** Beyond so many going through costs more than looking up. */
const maxScannedRules = 8

export class RuleList {
  readonly #rules: readonly CompiledRule[]
  /** Made when it is first needed: most lists of most clients never are. */
  #index: RuleIndex | undefined

  /** `rules` in ascending order. */
  constructor(rules: readonly CompiledRule[]) {
    this.#rules = rules
    this.#index = undefined
  }

  search(search: Search): void {
    if (this.#rules.length <= maxScannedRules) return scanRules(this.#rules, search)
    this.#index ??= new RuleIndex(this.#rules)
    this.#index.search(search)
  }
}

/** The first of the rules that decides. */
export function scanRules(rules: readonly CompiledRule[], search: Search): void {
  for (const rule of rules) {
    if (rule.order >= search.order) return
    if (matchesRule(rule, search)) return search.note(rule)
  }
}
