// Entry point of the module management: serves the management API over HTTP. The node implements its operations.

export type { AuditEntry, AuditOperations, AuditQuery } from './operations/audit.ts'
export type { AlarmOperations, AlarmRecord } from './operations/alarms.ts'
export type {
  CertificateReading,
  HighestName,
  MetricOperations,
  MonitorPoint,
  NodeReading,
  ShardReading,
} from './operations/metrics.ts'
export type { AccountOperations, AccountRefusal, App, AppChange, NewApp, User } from './operations/accounts.ts'
export type { LiveOperations, LiveWanted } from './operations/live.ts'
export type { SlowSubscription, SlowSubscriptionOperations } from './operations/slow-subscriptions.ts'
export type { NewTrace, TraceOperations, TraceRecord } from './operations/traces.ts'
export type * from './operations/backup.ts'
export type { BrokerDescription, BrokerOperations } from './operations/brokers.ts'
export type {
  CertificateInForce,
  ConfigurationOperations,
  ConfigurationOutcome,
  ListedSetting,
} from './operations/configuration.ts'
export type { ControlOperations, Requester } from './operations/control.ts'
export type { ListenerDescription, ListenerOperations } from './operations/listeners.ts'
export type * from './operations/diagnostics.ts'
export type * from './operations/namespaces.ts'
export type * from './auth/single-sign-on.ts'
export type * from './operations/gateways.ts'
export type * from './operations/rules.ts'
export type {
  TopicMetricsOperations,
  TopicNumberName,
  TopicNumbers,
  TopicSettingOperations,
} from './operations/topic-settings.ts'
export type { DelayedOperations, DelayedRow, DelayedSettings } from './operations/delayed.ts'
export type { OperationFailure, Publication, PublishingOperations, PublishReceipt } from './operations/publishing.ts'
export type { RetainedOperations, RetainedRow } from './operations/retained.ts'
export type { ClientOperations } from './operations/clients.ts'
export type { ListPosition, ListSlice, RowsWanted, ShardUnavailable } from './lists/list-slice.ts'
export type {
  BridgeFile,
  BridgeOperations,
  BridgeProblem,
  NewBridgeSettings,
} from './subjects/bridges/bridge-operations.ts'
export type { SchemaOperations } from './operations/schemas.ts'
export type { Ban, ClientRule, ClientRuleOperations, RuleListQuery, RuleSubject } from './operations/client-rules.ts'
export type {
  CredentialList,
  CredentialOperations,
  CredentialQuery,
  NewCredential,
  NotStored,
  PageFound,
  PageWanted,
  StoredCredential,
} from './operations/credentials.ts'
export type { NamespacedOperations, Operations } from './operations.ts'
export {
  createManagementServer,
  type ListenAt,
  type ManagementOptions,
  type ManagementServer,
  type ManagementSettings,
} from './server.ts'
export { mqttUpgradePath } from './dashboard/mqtt-upgrade.ts'
export { DashboardFiles } from './dashboard/dashboard-files.ts'
export { closeGraceMs, maxSocketHeaderBytes, requestTimeoutMs } from './http/limits.ts'
export {
  createAuthenticator,
  type Accounts,
  type Authenticator,
  type Logins,
  type SecondFactors,
  type SignedIn,
  type LoginMethods,
  socketAuthenticator,
  type Tokens,
  AuthQueue,
} from './auth/request-authenticator.ts'
