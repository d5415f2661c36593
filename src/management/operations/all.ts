// Operations of the node that the API needs, by subject. The node implements them.

import type { AlarmOperations } from './alarms.ts'
import type { BridgeOperations } from './bridges.ts'
import type { AuditOperations } from './audit.ts'
import type { BackupOperations } from './backup.ts'
import type { AccountOperations } from './accounts.ts'
import type { BrokerOperations } from './brokers.ts'
import type { DiagnosticsOperations } from './diagnostics.ts'
import type { LiveOperations } from './live.ts'
import type { MetricOperations } from './metrics.ts'
import type { NamespaceOperations } from './namespaces.ts'
import type { TopicMetricsOperations, TopicSettingOperations } from './topic-settings.ts'
import type { DelayedOperations } from './delayed.ts'
import type { GatewayOperations } from './gateways.ts'
import type { RuleOperations } from './rules.ts'
import type { SchemaOperations } from './schemas.ts'
import type { RetainedOperations } from './retained.ts'
import type { ClientOperations } from './clients.ts'
import type { ConfigurationOperations } from './configuration.ts'
import type { ControlOperations } from './control.ts'
import type { ListenerOperations } from './listeners.ts'
import type { SlowSubscriptionOperations } from './slow-subscriptions.ts'
import type { ClientRuleOperations } from './client-rules.ts'
import type { CredentialOperations } from './credentials.ts'
import type { PublishingOperations } from './publishing.ts'
import type { TraceOperations } from './traces.ts'

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
