// Operations of the node that the API needs, by subject. The node implements them.

import type { AlarmOperations } from './subjects/alarms.ts'
import type { BridgeOperations } from './subjects/bridges/bridge-operations.ts'
import type { AuditOperations } from './subjects/audit.ts'
import type { BackupOperations } from './subjects/backup.ts'
import type { AccountOperations } from './subjects/accounts/accounts.ts'
import type { BrokerOperations } from './subjects/brokers.ts'
import type { DiagnosticsOperations } from './subjects/diagnostics.ts'
import type { LiveOperations } from './subjects/live.ts'
import type { MetricOperations } from './subjects/metrics/metrics.ts'
import type { NamespaceOperations } from './subjects/namespaces.ts'
import type { TopicSettingOperations } from './subjects/topic-settings.ts'
import type { TopicMetricsOperations } from './subjects/metrics/topic-metrics.ts'
import type { DelayedOperations } from './subjects/messages/delayed.ts'
import type { GatewayOperations } from './subjects/gateways/gateways.ts'
import type { RuleOperations } from './subjects/rules/rules.ts'
import type { SchemaOperations } from './subjects/rules/schemas.ts'
import type { RetainedOperations } from './subjects/messages/retained.ts'
import type { ClientOperations } from './subjects/clients/clients.ts'
import type { ConfigurationOperations } from './subjects/configuration.ts'
import type { ControlOperations } from './subjects/control.ts'
import type { ListenerOperations } from './subjects/listeners.ts'
import type { SlowSubscriptionOperations } from './subjects/slow-subscriptions.ts'
import type { ClientRuleOperations } from './subjects/access/client-rules.ts'
import type { CredentialOperations } from './subjects/access/credentials.ts'
import type { PublishingOperations } from './subjects/messages/publishing.ts'
import type { TraceOperations } from './subjects/traces.ts'

/** Operations that exist separately for each namespace. */
export interface NamespacedOperations {
  readonly clients: ClientOperations
  readonly clientRules: ClientRuleOperations
  readonly credentials: CredentialOperations
  readonly publishing: PublishingOperations
  readonly retained: RetainedOperations
  readonly traces: TraceOperations
  readonly diagnostics: DiagnosticsOperations
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
