// The typed configuration that other modules use.

import { type AclConfig, toAclConfig } from './acl-config.ts'
import type { AclRule } from './acl/acl-rule.ts'
import { toAuthConfig, type AuthConfig } from './auth-config.ts'
import type { Checked, SettingText } from './check/check-settings.ts'
import { type CoreConfig, toCoreConfig } from './core-config.ts'
import type { Position } from './hocon/values.ts'
import { type HttpServerConfig, toHttpServerConfig } from './http-server-config.ts'
import { type ListenerConfig, toListeners } from './listener-config.ts'
import type { NamespacePattern } from './schema/namespace.ts'
import type { root, SettingValues } from './settings/root.ts'
import { type AutoSubscribeConfig, autoSubscriptionsOf, countedTopicsOf } from './topic-config.ts'

export type SecurityProfile = 'hardened' | 'legacy'

export interface NodeConfig {
  /** Undefined: the name in the data directory, or one derived from the host name at the first start. */
  readonly name: string | undefined
  /** Undefined: depends on the installation. */
  readonly dataDir: string | undefined
  /** Undefined: the number of processor cores. */
  readonly shards: number | undefined
  readonly securityProfile: SecurityProfile
  /** Address of listeners with only a port; undefined: depends on the profile. */
  readonly defaultListenerAddress: string | undefined
  /** Addresses that are not called: `loopback`, `private`, or networks. */
  readonly deniedAddresses: readonly string[]
  /** Undefined: a part of the memory of the machine or control group. */
  readonly memoryLimitBytes: number | undefined
  /** Directories in which a configuration from the API may name files. */
  readonly allowedDirectories: readonly string[]
}

export interface StorageConfig {
  readonly sync: 'commit' | 'interval' | 'never'
  readonly syncIntervalMs: number
  readonly recoveredExpirySeconds: number
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'

export interface LogConfig {
  readonly to: readonly ('console' | 'file')[]
  /** Undefined: `info` on a terminal, otherwise `warn`. */
  readonly level: LogLevel | undefined
  /** Undefined: `log` in the data directory. */
  readonly dir: string | undefined
  readonly file: string
  readonly rotationSizeBytes: number
  readonly rotationCount: number
}

/** Limits for bans of clients that reconnect too often. */
export interface FlappingConfig {
  readonly isEnabled: boolean
  readonly maxCount: number
  readonly windowMs: number
  readonly banMs: number
}

/** Settings that determine the namespace of a client. */
export interface NamespacesConfig {
  readonly sources: readonly ('listener' | 'username' | 'certificate')[]
  readonly usernamePattern: NamespacePattern | undefined
  readonly certificateField: 'cn' | 'o' | 'ou' | undefined
  readonly isRequired: boolean
  /** Limits of namespaces without their own; undefined: no limit. */
  readonly limits: {
    readonly clients: number | undefined
    readonly retainedMessages: number | undefined
    readonly messagesPerSecond: number | undefined
  }
  readonly maxRules: number
  /** Maximum number of actions, and also of connectors and of sources. */
  readonly maxActions: number
}

export interface LimitsConfig {
  /** For the whole node; undefined: no limit. */
  readonly maxConnections: number | undefined
  /** New connections of the whole node per second; undefined: no limit. */
  readonly maxConnectionRate: number | undefined
}

export interface SysTopicsConfig {
  /** 0: not repeated. */
  readonly intervalMs: number
  readonly clientEvents: boolean
}

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
export function tlsOfBridge(bridge: MqttBridgeConfig): MqttBridgeConfig['tls'] {
  return bridge.tls.isSet ? bridge.tls : bridge.ssl
}

/** Default queue limit of bridges; undefined: not set. */
export function spoolMessagesIn({ disk_cache_size: size }: DiskCacheConfig): number | undefined {
  return size === 0 ? undefined : size
}

/** Returns the policy of a full queue. With a cache the oldest message is dropped, as in other brokers. */
export function spoolPolicyOf(
  { spool_max_messages: own, spool_full_policy: policy }: MqttBridgeConfig,
  spoolMessages: number | undefined,
): 'refuse' | 'drop_newest' | 'drop_oldest' {
  return policy ?? (own === undefined && spoolMessages !== undefined ? 'drop_oldest' : 'refuse')
}

export type DiskCacheConfig = BridgesConfig['mqtt']['cache']

/** Automatic backups. */
export interface BackupConfig {
  /** `03:30` or `sun 03:30`; undefined: never. */
  readonly when: string | undefined
  readonly keep: number
}

export interface GodwitConfig {
  readonly node: NodeConfig
  readonly sysTopics: SysTopicsConfig
  readonly backup: BackupConfig
  /** Maximum size of the audit log. */
  readonly maxAuditBytes: number
  readonly http: HttpServerConfig
  readonly core: CoreConfig
  readonly autoSubscriptions: readonly AutoSubscribeConfig[]
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
/** Contents of files that settings name, read by `loadConfig`. */
export interface NamedFiles {
  /** Rules of `auth.acl.file`. */
  readonly aclRules: readonly AclRule[]
  /** Content of `auth.jwt.public_key_file` or `auth.jwt.jwks_file`; undefined: not set, or unreadable. */
  readonly tokenKeys: string | undefined
  /** Content of `http_server.jwt.public.keyfile`; undefined: not set, or unreadable. */
  readonly apiTokenKey: string | undefined
}

type CheckedSettings = Pick<Checked<typeof root>, 'values' | 'settingTexts' | 'places'>

/** Creates the typed configuration from checked values. */
export function toGodwitConfig({ values, settingTexts, places }: CheckedSettings, files: NamedFiles): GodwitConfig {
  const { node, auth, limits, mqtt, storage, sys_topics: sysTopics } = values
  return {
    node: {
      name: node.name,
      dataDir: node.data_dir,
      shards: node.shards,
      securityProfile: node.security_profile,
      defaultListenerAddress: node.default_listener_address,
      deniedAddresses: node.denied_addresses,
      memoryLimitBytes: node.memory_limit,
      allowedDirectories: node.allowed_directories,
    },
    core: toCoreConfig(values),
    autoSubscriptions: autoSubscriptionsOf(values),
    countedTopics: countedTopicsOf(values),
    storage: {
      sync: storage.sync,
      syncIntervalMs: storage.sync_interval,
      recoveredExpirySeconds: storage.recovered_session_expiry / 1_000,
    },
    listeners: toListeners(values),
    log: toLogConfig(values.log),
    auth: { ...toAuthConfig(auth, files.tokenKeys), acl: toAclConfig(values, files.aclRules) },
    flapping: toFlappingConfig(values.flapping_detect),
    namespaces: toNamespacesConfig(values.namespaces),
    http: toHttpServerConfig(values, files.apiTokenKey),
    backup: { when: values.backup.schedule, keep: values.backup.keep },
    maxAuditBytes: values.audit.max_size,
    sysTopics: { intervalMs: sysTopics.interval, clientEvents: sysTopics.client_events },
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
    limits: { maxConnections: limits.max_connections, maxConnectionRate: limits.max_connection_rate },
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

function toFlappingConfig(flapping: SettingValues['flapping_detect']): FlappingConfig {
  const { enable, max_count: maxCount, window_time: windowMs, ban_time: banMs } = flapping
  return { isEnabled: enable, maxCount, windowMs, banMs }
}

function toNamespacesConfig(values: SettingValues['namespaces']): NamespacesConfig | undefined {
  if (!values.enable) return undefined
  const { from: sources, username: usernamePattern, certificate: certificateField, required: isRequired } = values
  const limits = {
    clients: values.max_clients,
    retainedMessages: values.max_retained_messages,
    messagesPerSecond: values.messages_rate,
  }
  const { max_rules: maxRules, max_actions: maxActions } = values
  return { sources, usernamePattern, certificateField, isRequired, limits, maxRules, maxActions }
}

function toLogConfig(log: SettingValues['log']): LogConfig {
  return {
    to: log.to.filter((target) => target === 'console' || target === 'file'),
    level: log.level,
    dir: log.dir,
    file: log.file,
    rotationSizeBytes: log.rotation.size,
    rotationCount: log.rotation.count,
  }
}
