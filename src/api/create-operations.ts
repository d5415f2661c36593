// All operations of the API for this node. A new set adds its line here.

import { ClientQueries } from './clients/client-queries.ts'
import type { NodeParts } from './context/api-context.ts'
import { wholeBroker } from './context/names.ts'
import type { Operations } from './operations.ts'
import { backupOperations, type NodeBackups } from './backup/backup-operations.ts'
import { bridgeOperations } from './bridges/bridge-operations.ts'
import { configurationOperations } from './configuration/configuration-operations.ts'
import { clientRuleOperations } from './client-rules/client-rule-operations.ts'
import { credentialOperations } from './credentials/credential-operations.ts'
import { namespaceOperations } from './namespaces/namespace-operations.ts'
import { gatewayOperations } from './gateways/gateway-operations.ts'
import { scopedRuleOperations } from './rules/scoped-rules.ts'
import { ruleOperations } from './rules/rule-operations.ts'

/** All operations except those of accounts, which belong to the management server. */
export function operationsOf(dependencies: NodeParts): Omit<Operations, 'accounts'> & { readonly backup: NodeBackups } {
  const rules = ruleOperations(dependencies)
  return {
    within: (namespace) => ({
      clientRules: clientRuleOperations(dependencies, namespace),
      credentials: credentialOperations(dependencies, namespace),
      rules: scopedRuleOperations(rules, namespace, rules.sqlWithin(namespace)),
    }),
    backup: backupOperations(dependencies),
    bridges: bridgeOperations(dependencies),
    configuration: configurationOperations(dependencies.configuration, () => dependencies.listeners.addresses),
    namespaces: namespaceOperations(dependencies, new ClientQueries({ ...dependencies, names: wholeBroker })),
    rules: scopedRuleOperations(rules, undefined),
    gateways: gatewayOperations(dependencies),
    clientRules: clientRuleOperations(dependencies),
    credentials: credentialOperations(dependencies),
  }
}
