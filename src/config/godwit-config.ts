// The typed configuration that other modules use.

import { type AclConfig, toAclConfig } from './acl-config.ts'
import type { AclRule } from './acl/acl-rule.ts'
import { toAuthConfig, type AuthConfig } from './auth-config.ts'
import type { Checked, SettingText } from './check/check-settings.ts'
import { type CoreConfig, toCoreConfig } from './core-config.ts'
import type { Position } from './hocon/config-values.ts'
import { type HttpServerConfig, toHttpServerConfig } from './http-server-config.ts'
import { type ListenerConfig, toListeners } from './listener-config.ts'
import { type PluginsConfig, toPluginsConfig } from './plugins-config.ts'
import { readDefaultFields, readSettingFields, type SettingFields } from './schema/setting-fields.ts'
import { root, type SettingValues } from './settings/root.ts'
import { type AutoSubscribeConfig, omitInactive, type TopicSettings, toTopicSettings } from './topic-config.ts'

const {
  node: nodeSection,
  cluster: clusterSection,
  storage: storageSection,
  log: logSection,
  flapping_detect: flappingDetect,
  namespaces: namespacesSection,
  limits: limitsSection,
  sys_topics: sysTopicsSection,
  backup: backupSection,
} = root.entries

/** Values that are undefined by default depend on the machine or on the installation: see their entries. */
export type NodeConfig = SettingFields<typeof nodeSection.entries>

const { tls: clusterTls } = clusterSection.entries

/** Settings of a node of a cluster. */
export interface ClusterConfig extends SettingFields<typeof clusterSection.entries> {
  /** Of data connections; heartbeats use the next port. */
  readonly listen: ClusterAddress
  /** By which other nodes reach `listen`. */
  readonly advertise: ClusterAddress
  /** Undefined: connections are not encrypted. */
  readonly tls: ClusterTls | undefined
}

export interface ClusterAddress {
  /** Without brackets. */
  readonly host: string
  readonly port: number
}

/** PEM files. */
export interface ClusterTls {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
  readonly keyPassword: string | undefined
}

export type SecurityProfile = NodeConfig['securityProfile']

/** When committed changes are synced. */
export type SyncConfig = SettingFields<typeof storageSection.entries>

export interface StorageConfig extends SyncConfig {
  /** Session expiry of recreated sessions. */
  readonly recoveredExpirySeconds: number
}

const { rotation: rotationSection } = logSection.entries

export interface LogConfig
  extends SettingFields<typeof logSection.entries>, SettingFields<typeof rotationSection.entries> {
  readonly to: readonly ('console' | 'file')[]
}

export type LogLevel = NonNullable<LogConfig['level']>

/** Limits for bans of clients that reconnect too often. */
export type FlappingConfig = SettingFields<typeof flappingDetect.entries>

export const defaultFlappingConfig: FlappingConfig = readDefaultFields(flappingDetect.entries)

/** Settings that determine the namespace of a client, and limits of namespaces. */
export interface NamespacesConfig extends SettingFields<typeof namespacesSection.entries> {
  /** Limits of namespaces without their own; undefined: no limit. */
  readonly limits: {
    readonly clients: number | undefined
    readonly retainedMessages: number | undefined
    readonly messagesPerSecond: number | undefined
  }
}

/** Limits of the whole node; undefined: no limit. */
export type LimitsConfig = SettingFields<typeof limitsSection.entries>

export type SysTopicsConfig = SettingFields<typeof sysTopicsSection.entries>

/** The values have the names of the settings. Durations are milliseconds. */
export type RuleEngineConfig = SettingValues['rule_engine']
export type EventMessageConfig = SettingValues['event_message']

/** Schemas for functions of rules. */
export type SchemaRegistryConfig = SettingValues['schema_registry']
export type ConnectorsConfig = SettingValues['connectors']
export type ActionsConfig = SettingValues['actions']
export type WebhookConfig = SettingValues['webhook']
/** The section rules of NanoMQ. */
export type NanoMqRulesConfig = SettingValues['rules']
export type SourcesConfig = SettingValues['sources']
export type GatewaysConfig = SettingValues['gateway']
export type BridgesConfig = SettingValues['bridges']
export type MqttBridgeConfig = BridgesConfig['mqtt']['named'] extends ReadonlyMap<string, infer Bridge> ? Bridge : never
/** Returns the section that is written; `ssl` is the older name. */
export function selectBridgeTls(bridge: MqttBridgeConfig): MqttBridgeConfig['tls'] {
  return bridge.tls.isSet ? bridge.tls : bridge.ssl
}

/** Default queue limit of bridges; undefined: not set. */
export function toSpoolMessages({ disk_cache_size: size }: DiskCacheConfig): number | undefined {
  return size === 0 ? undefined : size
}

/** Returns the policy of a full queue. With a cache the oldest message is dropped, as in other brokers. */
export function resolveSpoolPolicy(
  { spool_max_messages: own, spool_full_policy: policy }: MqttBridgeConfig,
  spoolMessages: number | undefined,
): 'refuse' | 'drop_newest' | 'drop_oldest' {
  return policy ?? (own === undefined && spoolMessages !== undefined ? 'drop_oldest' : 'refuse')
}

export type DiskCacheConfig = BridgesConfig['mqtt']['cache']

export type ModulesConfig = SettingValues['modules']

/** Automatic backups. */
export type BackupConfig = SettingFields<typeof backupSection.entries>

export interface GodwitConfig {
  readonly node: NodeConfig
  /** Undefined: the node is alone. */
  readonly cluster: ClusterConfig | undefined
  readonly sysTopics: SysTopicsConfig
  readonly backup: BackupConfig
  /** Maximum size of the audit log. */
  readonly maxAuditBytes: number
  readonly http: HttpServerConfig
  readonly core: CoreConfig
  readonly autoSubscriptions: readonly AutoSubscribeConfig[]
  /** As configured; the other fields omit what belongs to modules that are off. */
  readonly topicSettings: TopicSettings
  /** `topic_metrics`. */
  readonly countedTopics: readonly string[]
  readonly storage: StorageConfig
  /** The enabled listeners. */
  readonly listeners: readonly ListenerConfig[]
  readonly log: LogConfig
  readonly auth: AuthConfig & { readonly acl: AclConfig }
  readonly flapping: FlappingConfig
  /** Undefined: there are none. */
  readonly namespaces: NamespacesConfig | undefined
  readonly limits: LimitsConfig
  readonly bridges: BridgesConfig
  readonly ruleEngine: RuleEngineConfig
  readonly schemaRegistry: SchemaRegistryConfig
  readonly eventMessage: EventMessageConfig
  readonly connectors: ConnectorsConfig
  readonly actions: ActionsConfig
  readonly sources: SourcesConfig
  readonly gateways: GatewaysConfig
  readonly webhook: WebhookConfig
  readonly nanoMqRules: NanoMqRulesConfig
  readonly plugins: PluginsConfig
  /** Switches of features. */
  readonly modules: ModulesConfig
  /** Maximum size of the properties of one packet. */
  readonly maxPropertyBytes: number
  /** Maximum unsent bytes of all connections together; undefined: an eighth of node.memory_limit. */
  readonly maxUnsentBytesTotal: number | undefined
  /** Maximum bytes of incomplete packets of all connections together; undefined: an eighth of node.memory_limit. */
  readonly maxUnfinishedBytesTotal: number | undefined
  /** Both limits from which the core's is derived. */
  readonly packetLimits: { readonly maxPacketBytes: number; readonly clientMaxPacketBytes: number }
  /** Every setting as text by its dotted key, for `differences`. */
  readonly settingTexts: ReadonlyMap<string, SettingText>
  /** Positions of the written settings, for later errors. */
  readonly places: ReadonlyMap<string, Position>
}

const bytesPerKibibyte = 1_024
const loopback = '127.0.0.1'
/** Contents of files that settings name, read by `loadConfig`. */
export interface NamedFiles {
  /** Rules of `auth.acl.file`. */
  readonly aclRules: readonly AclRule[]
  /** Content of `auth.jwt.public_key_file` or `auth.jwt.jwks_file`; undefined: not set, or unreadable. */
  readonly tokenKeys: string | undefined
  /** Content of `http_server.jwt.public.keyfile`; undefined: not set, or unreadable. */
  readonly apiTokenKey: string | undefined
  /** Content of `http_server.operator_keyfile`; undefined: not set. */
  readonly operatorKey: string | undefined
}

type CheckedSettings = Pick<Checked<typeof root>, 'values' | 'settingTexts' | 'places'>

/** Creates the typed configuration from checked values. */
export function toGodwitConfig({ values, settingTexts, places }: CheckedSettings, files: NamedFiles): GodwitConfig {
  const { node, limits, mqtt, storage, sys_topics: sysTopics } = values
  const topicSettings = toTopicSettings(values)
  const active = omitInactive(topicSettings, values)
  return {
    node: readSettingFields(nodeSection.entries, node),
    cluster: toClusterConfig(values.cluster),
    core: toCoreConfig(values, active.rewrites),
    topicSettings,
    autoSubscriptions: active.autoSubscriptions,
    countedTopics: active.countedTopics,
    storage: {
      ...readSettingFields(storageSection.entries, storage),
      recoveredExpirySeconds: storage.recovered_session_expiry / 1_000,
    },
    listeners: toListeners(values),
    log: toLogConfig(values.log),
    auth: { ...toAuthConfig(values, files.tokenKeys), acl: toAclConfig(values, files.aclRules) },
    flapping: readSettingFields(flappingDetect.entries, values.flapping_detect),
    namespaces: toNamespacesConfig(values.namespaces),
    http: toHttpServerConfig(values, { token: files.apiTokenKey, operator: files.operatorKey }),
    backup: readSettingFields(backupSection.entries, values.backup),
    maxAuditBytes: values.audit.max_size,
    sysTopics: readSettingFields(sysTopicsSection.entries, sysTopics),
    bridges: values.bridges,
    ruleEngine: values.rule_engine,
    schemaRegistry: values.schema_registry,
    eventMessage: values.event_message,
    connectors: values.connectors,
    actions: values.actions,
    sources: values.sources,
    gateways: values.gateway,
    webhook: values.webhook,
    nanoMqRules: values.rules,
    plugins: toPluginsConfig(values),
    modules: values.modules,
    limits: readSettingFields(limitsSection.entries, limits),
    maxPropertyBytes: mqtt.property_size * bytesPerKibibyte,
    maxUnsentBytesTotal: mqtt.max_unsent_bytes_total,
    maxUnfinishedBytesTotal: mqtt.max_unfinished_bytes_total,
    packetLimits: {
      maxPacketBytes: mqtt.max_packet_size,
      clientMaxPacketBytes: mqtt.client_max_packet_size ?? mqtt.max_packet_size,
    },
    settingTexts,
    places,
  }
}

function toClusterConfig(values: SettingValues['cluster']): ClusterConfig | undefined {
  if (!values.enable) return undefined
  const listen = toClusterAddress(values.listen)
  return {
    ...readSettingFields(clusterSection.entries, values),
    listen,
    advertise: values.advertise === undefined ? listen : toClusterAddress(values.advertise),
    tls: toClusterTls(values.tls),
  }
}

function toClusterAddress({ host = loopback, port }: SettingValues['cluster']['listen']): ClusterAddress {
  return { host, port }
}

function toClusterTls(values: SettingValues['cluster']['tls']): ClusterTls | undefined {
  const { caFile, certFile, keyFile, keyPassword } = readSettingFields(clusterTls.entries, values)
  // `checkCluster` refuses some of them without the others.
  if (caFile === undefined || certFile === undefined || keyFile === undefined) return undefined
  return { caFile, certFile, keyFile, keyPassword }
}

function toNamespacesConfig(values: SettingValues['namespaces']): NamespacesConfig | undefined {
  if (!values.enable) return undefined
  const limits = {
    clients: values.max_clients,
    retainedMessages: values.max_retained_messages,
    messagesPerSecond: values.messages_rate,
  }
  return { ...readSettingFields(namespacesSection.entries, values), limits }
}

function toLogConfig(log: SettingValues['log']): LogConfig {
  return {
    ...readSettingFields(logSection.entries, log),
    ...readSettingFields(rotationSection.entries, log.rotation),
    to: log.to.filter((target) => target === 'console' || target === 'file'),
  }
}
