// Entry point of the module management: serves the management API over HTTP. The node implements its operations.

export type { AuditEntry, AuditOperations, AuditQuery } from './subjects/audit.ts'
export type { AlarmOperations, AlarmRecord } from './subjects/alarms.ts'
export type {
  CertificateReading,
  HighestName,
  MetricOperations,
  MonitorPoint,
  NodeReading,
  ShardReading,
} from './subjects/metrics/metrics.ts'
export type { AccountOperations, App, AppChange, NewApp, User } from './subjects/accounts/accounts.ts'
export type { AccountRefusal } from './subjects/accounts/account-refusals.ts'
export type { LiveOperations, LiveWanted } from './subjects/live.ts'
export type { SlowSubscription, SlowSubscriptionOperations } from './subjects/slow-subscriptions.ts'
export type { NewTrace, TraceOperations, TraceRecord } from './subjects/traces.ts'
export type {
  ArchiveDescription,
  ArchiveDifference,
  BackupFile,
  BackupOperations,
  BackupProgress,
  BackupRefusal,
  BackupScope,
  ConfigurationChange,
  CreatedBackup,
  ExportRequest,
  ImportOutcome,
  ImportRequest,
  TableChange,
} from './subjects/backup.ts'
export type { BrokerDescription, BrokerOperations } from './subjects/brokers.ts'
export type {
  CertificateInForce,
  ConfigurationOperations,
  ConfigurationOutcome,
  ListedSetting,
} from './subjects/configuration.ts'
export type { ControlOperations, Requester } from './subjects/control.ts'
export type { ListenerDescription, ListenerOperations } from './subjects/listeners.ts'
export type {
  DiagnosticsOperations,
  DroppedPage,
  DroppedQuery,
  ExplainRequest,
  Explanation,
  QueuedMessage,
} from './subjects/diagnostics.ts'
export type { Namespace, NamespaceLimits, NamespaceOperations, RemovedNamespace } from './subjects/namespaces.ts'
export type * from './auth/single-sign-on.ts'
export type {
  Gateway,
  GatewayAuthentication,
  GatewayListener,
  GatewayOperations,
  GatewayOrListener,
  GatewayUser,
  GatewayUserOperations,
} from './subjects/gateways/gateways.ts'
export type {
  ActionMetrics,
  NodeDeadLetter,
  NodeRetryProgress,
  NodeQueuedResult,
  Resource,
  ResourceKind,
  Rule,
  RuleMetrics,
  RuleOperations,
  RuleProblem,
  RuleScrape,
  RuleSettings,
  SourceMetrics,
  SqlTestOutcome,
} from './subjects/rules/rules.ts'
export type { TopicSettingOperations } from './subjects/topic-settings.ts'
export type { TopicMetricsOperations, TopicNumberName, TopicNumbers } from './subjects/metrics/topic-metrics.ts'
export type { DelayedOperations, DelayedRow, DelayedSettings } from './subjects/messages/delayed.ts'
export type { OperationFailure, PublishingOperations, PublishReceipt } from './subjects/messages/publishing.ts'
export type { Publication } from './subjects/messages/publication.ts'
export type { RetainedOperations, RetainedRow } from './subjects/messages/retained.ts'
export type { ClientOperations } from './subjects/clients/clients.ts'
export type { ListPosition, ListSlice, RowsWanted, ShardUnavailable } from './lists/list-slice.ts'
export type {
  BridgeFile,
  BridgeOperations,
  BridgeProblem,
  NewBridgeSettings,
} from './subjects/bridges/bridge-operations.ts'
export type { SchemaOperations } from './subjects/rules/schemas.ts'
export type {
  Ban,
  ClientRule,
  ClientRuleOperations,
  RuleListQuery,
  RuleSubject,
} from './subjects/access/client-rules.ts'
export type {
  CredentialList,
  CredentialOperations,
  CredentialQuery,
  NewCredential,
  NotStored,
  StoredCredential,
} from './subjects/access/credentials.ts'
export type { PageFound, PageWanted } from './lists/numbered-pages.ts'
export type { NamespacedOperations, Operations } from './operations.ts'
export { createManagementServer, type ListenAt, type ManagementServer } from './server.ts'
export type { ManagementOptions, ManagementSettings } from './server-context.ts'
export { mqttUpgradePath } from './dashboard/mqtt-upgrade.ts'
export { DashboardFiles } from './dashboard/dashboard-files.ts'
export { closeGraceMs, maxSocketHeaderBytes, requestTimeoutMs } from './http/limits.ts'
export {
  createAuthenticator,
  type Accounts,
  type Authenticator,
  type Logins,
  type SecondFactors,
  type LoggedIn,
  type LoginMethods,
  socketAuthenticator,
  type Tokens,
  AuthQueue,
} from './auth/request-authenticator.ts'
