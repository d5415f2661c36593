// All operations of the API for this node. A new set adds its line here.

import type { GodwitConfig } from '../../config/index.ts'
import type { Store } from '../../storage/index.ts'
import type { AuditOperations, Operations } from '../../management/index.ts'
import type { Logger } from '../../telemetry/index.ts'
import type { AccessRecords } from '../records/access-records.ts'
import type { GatewayConfig } from '../gateways/gateway-config.ts'
import type { BridgeConfig } from '../bridges/bridge-config.ts'
import type { ListenerManager } from '../listeners/listener-manager.ts'
import type { ConfigManager } from '../configuration/config-manager.ts'
import type { Monitoring } from './monitoring.ts'
import type { ShardSupervisor } from '../shards/shard-supervisor.ts'
import { backupOperations, type NodeBackups } from './backup.ts'
import { bridgeOperations } from './bridges.ts'
import type { ShadowedCredentials } from '../records/shadowed-credentials.ts'
import { brokerOperations } from './brokers.ts'
import { clientOperations } from './clients.ts'
import { configurationOperations } from './configuration.ts'
import type { ShutdownRequests } from './control.ts'
import { diagnosticsOperations } from './diagnostics.ts'
import { liveOperations } from './live.ts'
import { listenerOperations } from './listeners.ts'
import { clientRuleOperations } from './client-rules.ts'
import { credentialOperations } from './credentials.ts'
import { namespaceOperations } from './namespaces.ts'
import { publishingOperations } from './publishing.ts'
import { topicMetricsOperations } from './topic-metrics.ts'
import { topicSettingOperations } from './topic-settings.ts'
import { delayedOperations } from './delayed.ts'
import { gatewayOperations } from './gateways.ts'
import { scopedRuleOperations } from './scoped-rules.ts'
import { ruleOperations } from './rules.ts'
import { schemaOperations } from './schemas.ts'
import { retainedOperations } from './retained.ts'
import type { NamespaceLimitsInForce } from '../records/namespace-limits.ts'
import { namespacedOperationsOf } from './namespace-scope.ts'

/** Parts of a running node that operations use. */
export interface NodeDependencies {
  readonly config: GodwitConfig
  readonly nodeName: string
  readonly version: string
  /** Absolute. */
  readonly dataDirectory: string
  readonly counters: SharedArrayBuffer
  readonly supervisor: ShardSupervisor
  readonly accessRecords: AccessRecords
  readonly log: Logger
  readonly control: ShutdownRequests
  readonly listeners: ListenerManager
  readonly bridges: BridgeConfig
  readonly gateways: GatewayConfig
  /** Maximum connections of the machine. */
  readonly maxFileConnections: number
  readonly configuration: ConfigManager
  readonly observation: Monitoring
  readonly shadowedCredentials: ShadowedCredentials
  /** The store of the main thread. */
  readonly ownStore: Store
  readonly audit: AuditOperations
  readonly namespaceLimits: NamespaceLimitsInForce
}

/** All operations except those of accounts, which belong to the management server. */
export function operationsOf(
  dependencies: NodeDependencies,
): Omit<Operations, 'accounts'> & { readonly backup: NodeBackups } {
  const rules = ruleOperations(dependencies)
  const ofAll = {
    rules,
    clients: clientOperations(dependencies.supervisor, dependencies.nodeName),
    publishing: publishingOperations(dependencies.supervisor),
    retained: retainedOperations(dependencies.supervisor, dependencies.ownStore),
    diagnostics: diagnosticsOperations(dependencies.supervisor, dependencies.counters, dependencies.ownStore),
    ...dependencies.observation.operations,
  }
  return {
    ...ofAll,
    live: liveOperations(dependencies.supervisor, ofAll.retained),
    within: (namespace) => namespacedOperationsOf({ ...ofAll, dependencies }, namespace),
    audit: dependencies.audit,
    backup: backupOperations(dependencies),
    bridges: bridgeOperations(dependencies),
    brokers: brokerOperations(dependencies),
    configuration: configurationOperations(dependencies.configuration, () => dependencies.listeners.addresses),
    control: dependencies.control.operations,
    listeners: listenerOperations(dependencies),
    namespaces: namespaceOperations(dependencies, ofAll.clients),
    rules: scopedRuleOperations(rules, undefined),
    schemas: schemaOperations(dependencies.configuration),
    gateways: gatewayOperations(dependencies),
    topicSettings: topicSettingOperations(dependencies.configuration),
    topicMetrics: topicMetricsOperations(dependencies),
    delayed: delayedOperations({ ...dependencies, store: dependencies.ownStore }),
    clientRules: clientRuleOperations(dependencies),
    credentials: credentialOperations(dependencies),
  }
}
