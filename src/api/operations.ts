// Operations of the node that the API needs, by subject. The node implements them.

import type { AlarmOperations } from './alarms/alarms.ts'
import type { BridgeOperations } from './bridges/bridge-types.ts'
import type { AuditLog, TraceOperations } from '../node/index.ts'
import type { BackupOperations } from './backup/backup.ts'
import type { AccountOperations } from './accounts/v4.ts'
import type { BrokerOperations } from './brokers/brokers.ts'
import type { DiagnosticsOperations } from './diagnostics/diagnostics.ts'
import type { LiveOperations } from './live/live.ts'
import type { MetricOperations } from './metrics/metrics.ts'
import type { NamespaceOperations } from './namespaces/namespaces.ts'
import type { TopicSettingOperations } from './topic-settings/topic-settings.ts'
import type { TopicMetricsOperations } from './topic-metrics/topic-metrics.ts'
import type { DelayedOperations } from './delayed/delayed.ts'
import type { GatewayOperations } from './gateways/gateways.ts'
import type { RuleOperations } from './rules/rules.ts'
import type { SchemaOperations } from './schema-registry/schema-registry.ts'
import type { RetainedOperations } from './retained/retained.ts'
import type { ClientOperations } from './clients/clients.ts'
import type { ConfigurationOperations } from './configuration/configuration.ts'
import type { ControlOperations } from './control/control.ts'
import type { ListenerOperations } from './listeners/listeners.ts'
import type { SlowSubscriptionOperations } from './slow-subscriptions/slow-subscriptions.ts'
import type { ClientRuleOperations } from './client-rules/client-rules.ts'
import type { CredentialOperations } from './credentials/credentials.ts'
import type { PublishingOperations } from './publishing/publishing.ts'

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
  readonly audit: AuditLog
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
