// Rules for the same clients, in order. Short lists are searched linearly; long ones have an index.

import { matchesRule, type CompiledRule, type Search } from './compiled-rule.ts'
import { RuleIndex } from './rule-index.ts'

/** Beyond this length the index is faster. */
const maxScannedRules = 8

export class RuleList {
  readonly #rules: readonly CompiledRule[]
  /** Created when needed: most lists of most clients are never used. */
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

/** Finds the first deciding rule. */
export function scanRules(rules: readonly CompiledRule[], search: Search): void {
  for (const rule of rules) {
    if (rule.order >= search.order) return
    if (matchesRule(rule, search)) return search.recordMatch(rule)
  }
}
