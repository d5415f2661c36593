// Operations of the node that the API needs, by subject. The node implements them.

import type { BridgeOperations } from './bridges/bridge-types.ts'
import type { BackupOperations } from './backup/backup.ts'
import type { AccountOperations } from './accounts/v4.ts'
import type { GatewayOperations } from './gateways/gateways.ts'
import type { RuleOperations } from './rules/rules.ts'
import type { ConfigurationOperations } from './configuration/configuration.ts'

/** Operations that exist separately for each namespace. */
export interface NamespacedOperations {
  readonly rules: RuleOperations
}

export interface Operations extends NamespacedOperations {
  /** Returns the operations for a caller of that namespace, who cannot access others. */
  within(namespace: string): NamespacedOperations
  readonly bridges: BridgeOperations
  readonly accounts: AccountOperations
  readonly backup: BackupOperations
  readonly configuration: ConfigurationOperations
  readonly gateways: GatewayOperations
}
