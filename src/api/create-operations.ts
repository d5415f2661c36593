// All operations of the API for this node. A new set adds its line here.

import type { GodwitConfig } from '../config/index.ts'
import type { Store } from '../storage/index.ts'
import type {
  Alarms,
  AuditLog,
  Monitoring,
  AccessRecords,
  GatewayConfig,
  BridgeConfig,
  ListenerManager,
  ConfigManager,
  ShardSupervisor,
  ShadowedCredentials,
  NamespaceLimitsInForce,
} from '../node/index.ts'
import type { Operations } from './operations.ts'
import type { Logger } from '../telemetry/index.ts'
import { alarmOperations } from './alarms/alarm-operations.ts'
import { metricOperations } from './metrics/metric-operations.ts'
import { slowSubscriptionOperations } from './slow-subscriptions/slow-subscription-operations.ts'
import { backupOperations, type NodeBackups } from './backup/backup-operations.ts'
import { bridgeOperations } from './bridges/bridge-operations.ts'
import { brokerOperations } from './brokers/broker-operations.ts'
import { clientOperations } from './clients/client-operations.ts'
import { configurationOperations } from './configuration/configuration-operations.ts'
import type { ShutdownRequests } from './control/shutdown-requests.ts'
import { diagnosticsOperations } from './diagnostics/diagnostics-operations.ts'
import { liveOperations } from './live/live-operations.ts'
import { listenerOperations } from './listeners/listener-operations.ts'
import { clientRuleOperations } from './client-rules/client-rule-operations.ts'
import { credentialOperations } from './credentials/credential-operations.ts'
import { namespaceOperations } from './namespaces/namespace-operations.ts'
import { publishingOperations } from './publishing/publishing-operations.ts'
import { topicMetricsOperations } from './topic-metrics/topic-metrics-operations.ts'
import { topicSettingOperations } from './topic-settings/topic-setting-operations.ts'
import { delayedOperations } from './delayed/delayed-operations.ts'
import { gatewayOperations } from './gateways/gateway-operations.ts'
import { scopedRuleOperations } from './rules/scoped-rules.ts'
import { ruleOperations } from './rules/rule-operations.ts'
import { schemaOperations } from './schema-registry/schema-operations.ts'
import { retainedOperations } from './retained/retained-operations.ts'
import { namespacedOperationsOf } from './namespace-scope.ts'

/** Parts of a running node that operations use. */
export interface NodeDependencies {
  readonly config: GodwitConfig
  readonly nodeName: string
  readonly version: string
  /** Absolute. */
  readonly dataDirectory: string
  readonly counters: SharedArrayBuffer
  readonly histograms: SharedArrayBuffer
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
  readonly alarms: Alarms
  readonly observation: Monitoring
  readonly shadowedCredentials: ShadowedCredentials
  /** The store of the main thread. */
  readonly ownStore: Store
  readonly audit: AuditLog
  readonly namespaceLimits: NamespaceLimitsInForce
}

/** All operations except those of accounts, which belong to the management server. */
export function operationsOf(
  dependencies: NodeDependencies,
): Omit<Operations, 'accounts'> & { readonly backup: NodeBackups } {
  const { nodeName, observation, alarms, listeners: live } = dependencies
  const metrics = metricOperations({ ...dependencies, ...observation, live })
  const rules = ruleOperations(dependencies)
  const ofAll = {
    rules,
    clients: clientOperations(dependencies.supervisor, dependencies.nodeName),
    publishing: publishingOperations(dependencies.supervisor),
    retained: retainedOperations(dependencies.supervisor, dependencies.ownStore),
    diagnostics: diagnosticsOperations(dependencies.supervisor, dependencies.counters, dependencies.ownStore),
    traces: observation.traces,
    slowSubscriptions: slowSubscriptionOperations(nodeName, dependencies.supervisor),
  }
  return {
    ...ofAll,
    live: liveOperations(dependencies.supervisor, ofAll.retained),
    within: (namespace) => namespacedOperationsOf({ ...ofAll, dependencies }, namespace),
    metrics,
    alarms: alarmOperations(nodeName, alarms),
    audit: dependencies.audit,
    backup: backupOperations(dependencies),
    bridges: bridgeOperations(dependencies),
    brokers: brokerOperations({ ...dependencies, metrics }),
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
