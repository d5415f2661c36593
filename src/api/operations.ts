// Operations of the node that the API needs, by subject. The node implements them.

import type { RuleOperations } from './rules/rules.ts'

/** Operations that exist separately for each namespace. */
export interface NamespacedOperations {
  readonly rules: RuleOperations
}

export interface Operations extends NamespacedOperations {
  /** Returns the operations for a caller of that namespace, who cannot access others. */
  within(namespace: string): NamespacedOperations
}
