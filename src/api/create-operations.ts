// All operations of the API for this node. A new set adds its line here.

import type { NodeParts } from './context/api-context.ts'
import type { Operations } from './operations.ts'
import { backupOperations, type NodeBackups } from './backup/backup-operations.ts'
import { bridgeOperations } from './bridges/bridge-operations.ts'
import { configurationOperations } from './configuration/configuration-operations.ts'
import { gatewayOperations } from './gateways/gateway-operations.ts'
import { scopedRuleOperations } from './rules/scoped-rules.ts'
import { ruleOperations } from './rules/rule-operations.ts'

/** All operations except those of accounts, which belong to the management server. */
export function operationsOf(dependencies: NodeParts): Omit<Operations, 'accounts'> & { readonly backup: NodeBackups } {
  const rules = ruleOperations(dependencies)
  return {
    within: (namespace) => ({
      rules: scopedRuleOperations(rules, namespace, rules.sqlWithin(namespace)),
    }),
    backup: backupOperations(dependencies),
    bridges: bridgeOperations(dependencies),
    configuration: configurationOperations(dependencies.configuration, () => dependencies.listeners.addresses),
    rules: scopedRuleOperations(rules, undefined),
    gateways: gatewayOperations(dependencies),
  }
}
