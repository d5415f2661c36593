// Operations of the node that the API needs, by subject. The node implements them.

import type { AlarmOperations } from './operations/alarms.ts'
import type { BridgeOperations } from './subjects/bridges/bridge-operations.ts'
import type { AuditOperations } from './operations/audit.ts'
import type { BackupOperations } from './operations/backup.ts'
import type { AccountOperations } from './operations/accounts.ts'
import type { BrokerOperations } from './operations/brokers.ts'
import type { DiagnosticsOperations } from './operations/diagnostics.ts'
import type { LiveOperations } from './operations/live.ts'
import type { MetricOperations } from './operations/metrics.ts'
import type { NamespaceOperations } from './operations/namespaces.ts'
import type { TopicMetricsOperations, TopicSettingOperations } from './operations/topic-settings.ts'
import type { DelayedOperations } from './operations/delayed.ts'
import type { GatewayOperations } from './operations/gateways.ts'
import type { RuleOperations } from './operations/rules.ts'
import type { SchemaOperations } from './operations/schemas.ts'
import type { RetainedOperations } from './operations/retained.ts'
import type { ClientOperations } from './operations/clients.ts'
import type { ConfigurationOperations } from './operations/configuration.ts'
import type { ControlOperations } from './operations/control.ts'
import type { ListenerOperations } from './operations/listeners.ts'
import type { SlowSubscriptionOperations } from './operations/slow-subscriptions.ts'
import type { ClientRuleOperations } from './operations/client-rules.ts'
import type { CredentialOperations } from './operations/credentials.ts'
import type { PublishingOperations } from './operations/publishing.ts'
import type { TraceOperations } from './operations/traces.ts'

/** Operations that exist separately for each namespace. */
export interface NamespacedOperations {
  readonly clients: ClientOperations
  readonly clientRules: ClientRuleOperations
  readonly credentials: CredentialOperations
  readonly publishing: PublishingOperations
  readonly retained: RetainedOperations
  readonly traces: TraceOperations
  readonly insight: DiagnosticsOperations
  readonly slowSubscriptions: SlowSubscriptionOperations
  readonly rules: RuleOperations
}

export interface Operations extends NamespacedOperations {
  /** Returns the operations for a caller of that namespace, who cannot access others. */
  within(namespace: string): NamespacedOperations
  readonly bridges: BridgeOperations
  readonly accounts: AccountOperations
  readonly backup: BackupOperations
  readonly audit: AuditOperations
  readonly brokers: BrokerOperations
  readonly configuration: ConfigurationOperations
  readonly control: ControlOperations
  readonly listeners: ListenerOperations
  readonly namespaces: NamespaceOperations
  readonly schemas: SchemaOperations
  readonly gateways: GatewayOperations
  readonly delayed: DelayedOperations
  readonly topicSettings: TopicSettingOperations
  readonly topicMetrics: TopicMetricsOperations
  readonly metrics: MetricOperations
  readonly live: LiveOperations
  readonly alarms: AlarmOperations
}
