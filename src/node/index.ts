// Entry point of the module node: the parts of one process of the broker, which `boot` composes and `api` queries and changes.

export { settleAccessSecret } from './data-dir/access-secret.ts'
export {
  type Account,
  resolveDefaultDataDirectory,
  describeDirectoryError,
  type Installation,
  prepareDataDirectory,
  tryDirectory,
} from './data-dir/data-directory.ts'
export { dataEntries } from './data-dir/data-entries.ts'
export { type DirectoryLock, lockDirectory } from './data-dir/directory-lock.ts'
export { isDiskFull, keepReserve, releaseReserve } from './data-dir/disk-reserve.ts'
export { settleNodeName } from './data-dir/node-name.ts'
export { quarantineCandidate } from './data-dir/quarantine.ts'
export { type ControlSecret, writeControlSecret } from './data-dir/control-secret.ts'
export { controlSocketName, prepareSocketPath } from './data-dir/socket-path.ts'

export { AllowedPaths } from './configuration/layers/allowed-paths.ts'
export { type ConfigConsumer, type Problem } from './configuration/config-consumers.ts'
export { createIncludeReader, createNamedFileReader, readConfigFile } from './configuration/layers/config-files.ts'
export { ConfigHistory, formatVersion, compareVersions } from './configuration/config-history.ts'
export { nothingChanged, requestName, writeSettings } from './configuration/layers/config-layers.ts'
export { ConfigManager, type ConfigOutcome } from './configuration/config-manager.ts'
export { type ConfigRefusal, refuseErrors, refuseProblem } from './configuration/config-refusals.ts'
export {
  changesFileName,
  type ConfigurationReading,
  type ConfigurationSources,
  readConfiguration,
} from './configuration/read-configuration.ts'
export { WatchedFiles } from './configuration/watched-files.ts'
export { stageFile } from './configuration/staged-file.ts'

export { DashboardListener, openDashboardListener } from './listeners/dashboard-listener.ts'
export {
  listApiHosts,
  listPortHosts,
  isLoopbackAddress,
  type ListenerAddress,
  findListenerFileProblems,
  resolveListeners,
} from './listeners/listener-addresses.ts'
export { type CertificateInForce, readListenerCertificates } from './listeners/read-listener-certificates.ts'
export { ListenerManager, createListenersConsumer } from './listeners/listener-manager.ts'
export { omitMissingQuic } from './listeners/omit-missing-quic.ts'
export { reserveTcpPort } from './listeners/reserve-port.ts'

export { createPluginShards } from './plugins/plugin-shards.ts'

export { Alarms } from './observe/raised-alarms.ts'
export { type AuditLog, openAuditLog, reloadWithAudit } from './observe/audit-log.ts'
export { DescriptorMonitor } from './observe/descriptor-monitor.ts'
export { Gauges, type HighestName } from './observe/gauges.ts'
export {
  createLogConsumer,
  resolveLogLevel,
  resolveLogTargets,
  toLogProblem,
  findLogFileProblem,
} from './observe/log-config.ts'
export { MonitorHistory, type MonitorPoint } from './observe/monitor-history.ts'
export { OverloadMonitor } from './observe/overload-monitor.ts'
export { type CertificateReading, ResourceMonitor, type ShownCertificate } from './observe/resource-monitor.ts'
export { SysTopics, type SysTopicsOptions } from './observe/sys-topics.ts'
export { type NewTrace, type TraceRecord, Traces } from './observe/trace-files.ts'

export { type MemoryObservation, monitorMemory } from './shards/memory-monitoring.ts'
export { type DrainReport, NodeDrain } from './shards/node-drain.ts'
export { type NodeStore, openNodeStore } from './shards/node-store.ts'
export { type QueryableShards, queryShard } from './shards/query-shard.ts'
export type { ClusterMembers, ClusterView } from './cluster/cluster-members.ts'
export { type ClusterFacts, ClusterNode } from './cluster/cluster-node.ts'
export { DatabaseMembers } from './cluster/database-members.ts'
export { toConnectionLimits, type MemoryPlan, planShards, resolveShardCount } from './shards/shard-plan.ts'
export { ShardSupervisor } from './shards/shard-supervisor.ts'
export { defaultRestartPolicy, type RestartPolicy } from './shards/supervised-shard.ts'

export {
  type AccessListName,
  AccessRecords,
  type AccessRecordsDependencies,
  type NodeRecordChange,
  openAccessRecords,
} from './records/stored-access-records.ts'
export { toAccessSettings } from './records/to-access-settings.ts'
export { maxNamespaces, NamespaceLimitsInForce } from './records/namespace-limits.ts'
export { filterInSlices, ScanBudget } from './records/record-scan.ts'
export { ShadowedCredentials } from './records/shadowed-credentials.ts'

export { countAdmins, maxAdmins } from './admins/account-limits.ts'
export { createAdminAuthentication, type ConfiguredAccount } from './admins/admin-authentication.ts'
export { createApiTokens } from './admins/api-tokens.ts'
export {
  resolveConfiguredAccount,
  generateAdminPassword,
  type NewPassword,
  findPasswordRisk,
  wellKnownPasswordText,
} from './admins/default-admin.ts'
export { createAdminLogins } from './admins/logins.ts'
export { admitOidcUser, isOfProvider } from './admins/oidc/oidc-accounts.ts'
export { createOidcLogin } from './admins/oidc/oidc-login.ts'
export { OidcProviders } from './admins/oidc/oidc-providers.ts'
export { authenticatedOrigin, hashSecret, PasswordHasher } from './admins/password-hashing.ts'
export { RecentLogins } from './admins/recent-logins.ts'
export { createSecondFactors } from './admins/second-factor.ts'
export { isWellKnownPassword } from './admins/well-known-passwords.ts'

export { BridgeConfig, deriveBrokerId, planBridges } from './bridges/bridge-config.ts'

export { runRulesForAlarm } from './rules/alarm-rules.ts'
export { createLibraryReporter } from './rules/library-reporter.ts'
export { RuleConfig } from './rules/rule-config.ts'

export { type AuthenticationSettings } from './gateways/to-listener-authentication.ts'
export {
  GatewayConfig,
  GatewayPlanner,
  gatewayTypes,
  findListener,
  describeTaken,
  findGatewayProblems,
  findProtocolName,
  deriveStatus,
} from './gateways/gateway-config.ts'
export { type Gateway, type GatewaySocket, listSockets } from './gateways/configured-sockets.ts'

export { type BackupFile, type BackupRefusal, type BackupScope } from './backup/backup-folder.ts'
export { ScheduledBackups } from './backup/backup-schedule.ts'
export { type ArchiveDifference } from './backup/compare-archives.ts'
export { type ImportOutcome } from './backup/import/import-archive.ts'
export { type ArchiveDescription, Backups } from './backup/backups.ts'
export { importSessions, type SessionsImport } from './backup/import/import-sessions.ts'
export { type TableChange } from './backup/import/import-tables.ts'

export { type Monitoring, observeNode } from './monitoring.ts'
export { hasStarted, type ListedPlugin, PluginManager } from './plugins/plugin-manager.ts'
export { ModuleAlarms } from './observe/module-alarms.ts'
export { createBackedUpPlugins } from './backup/plugin-records.ts'
