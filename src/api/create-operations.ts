// All operations of the API for this node. A new set adds its line here.

import type { NodeParts } from './context/api-context.ts'
import type { Operations } from './operations.ts'
import { scopedRuleOperations } from './rules/scoped-rules.ts'
import { ruleOperations } from './rules/rule-operations.ts'

export function operationsOf(dependencies: NodeParts): Operations {
  const rules = ruleOperations(dependencies)
  return {
    within: (namespace) => ({
      rules: scopedRuleOperations(rules, namespace, rules.sqlWithin(namespace)),
    }),
    rules: scopedRuleOperations(rules, undefined),
  }
}
