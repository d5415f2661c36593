// The typed configuration that other modules use.

import {
  type AutoSubscribeConfig,
  autoSubscriptionsOf,
  countedTopicsOf,
  type RewriteConfig,
  rewritesOf,
} from './topic-config.ts'
import type { AclRule } from './acl/acl-rule.ts'
import { toAuthConfig, type AuthConfig } from './auth-config.ts'
import type { Checked, SettingText } from './check/check-settings.ts'
import type { Position } from './hocon/values.ts'
import {
  type ListenerConfig,
  toDashboardListener,
  toListeners,
  type WebSocketListenerConfig,
} from './listener-config.ts'
import type { Bind } from './schema/bind.ts'
import type { NamespacePattern } from './schema/namespace.ts'
import { type OidcConfig, toOidcConfig } from './oidc-config.ts'
import { type CoreValues, readCoreValues } from './schema/core-values.ts'
import { mqtt as mqttSection, retainer as retainerSection } from './settings/mqtt.ts'
import type { root, SettingValues } from './settings/root.ts'

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

/** Settings of the core. Those that it takes unchanged are named by their entries in `settings/mqtt.ts`. */
export interface CoreConfig extends CoreValues<typeof mqttSection>, CoreValues<typeof retainerSection> {
  /** Undefined: none. */
  readonly topicRewrites: readonly RewriteConfig[] | undefined
  readonly delaysMessages: boolean
  /** Undefined: no limit. */
  readonly maxDelayedMessages: number | undefined
  readonly maxDelayedMessagesPerClient: number | undefined
  readonly maxPacketBytes: number
  readonly storedMessagesOverflow: 'drop-oldest' | 'reject-publish'
  readonly maximumQoS: 0 | 1 | 2
  readonly bindsClientIds: boolean
  readonly sessionExpirySeconds: number
  readonly maxSessionExpirySeconds: number | undefined
  readonly maxRetainedMessages: number | undefined
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

/** Authorization of clients. */
export interface AclConfig {
  /** Rules of the configuration, followed by those of the file. */
  readonly rules: readonly AclRule[]
  /** Path, as written in the configuration. */
  readonly file: string | undefined
  readonly noMatch: 'allow' | 'deny'
  readonly denyAction: 'ignore' | 'disconnect'
  /** A service decides if no rule matches. */
  readonly usesService: boolean
  /** Cached decisions of the service for one client. */
  readonly maxDecisions: number
  readonly decisionTtlMs: number
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

/** The management API over HTTP. */
export interface HttpServerConfig {
  readonly isEnabled: boolean
  readonly port: number
  /** Undefined: as for listeners with only a port. */
  readonly host: string | undefined
  /** Maximum requests at the same time. */
  readonly maxRequests: number
  readonly maxBodyBytes: number
  readonly maxUploadBytes: number
  /** User name of the first administrator. */
  readonly username: string
  readonly password: string | undefined
  /** The dashboard; undefined: not served. */
  readonly dashboard:
    | {
        readonly allowedOrigins: readonly string[]
        /** Address of a separate listener for the dashboard and the API; undefined: there is none. */
        readonly bind: Bind | undefined
        /** For MQTT clients of the page. */
        readonly listener: WebSocketListenerConfig
        /** Login by OpenID Connect; undefined: off. */
        readonly oidc: OidcConfig | undefined
      }
    | undefined
  readonly authType: 'basic' | 'jwt' | 'no_auth'
  readonly jwt: {
    /** Path, as written in the configuration. */
    readonly keyFile: string | undefined
    /** Content of the file. */
    readonly keyText: string | undefined
    readonly issuer: string | undefined
    readonly leewayMs: number
  }
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
const msPerSecond = 1_000

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

/**
 * Maximum packet size of the standard is 268,435,460 bytes. A forwarded message may have more than the received one
 * (subscription identifiers, an alias, a mount point, markers of a bridge), and must be a valid packet for each
 * receiver.
 */
const maxPacketBytes = 255 * 1_048_576

function toCoreConfig(values: SettingValues): CoreConfig {
  const { auth, delayed, mqtt, node, retainer } = values
  const topicRewrites = rewritesOf(values)
  const usualBinding = node.security_profile === 'hardened' ? 'identity' : 'none'
  const maxExpiryMs = mqtt.max_session_expiry_interval
  const maxRetained = retainer.max_retained_messages
  return {
    ...readCoreValues(mqttSection, mqtt),
    ...readCoreValues(retainerSection, retainer),
    topicRewrites: topicRewrites.length === 0 ? undefined : topicRewrites,
    delaysMessages: delayed.enable,
    maxDelayedMessages: delayed.max_delayed_messages === 0 ? undefined : delayed.max_delayed_messages,
    maxDelayedMessagesPerClient:
      delayed.max_delayed_messages_per_client === 0 ? undefined : delayed.max_delayed_messages_per_client,
    maxPacketBytes: Math.min(mqtt.max_packet_size, mqtt.client_max_packet_size ?? Infinity, maxPacketBytes),
    storedMessagesOverflow: mqtt.stored_messages_overflow === 'drop_oldest' ? 'drop-oldest' : 'reject-publish',
    maximumQoS: mqtt.max_qos_allowed === '2' ? 2 : mqtt.max_qos_allowed === '1' ? 1 : 0,
    bindsClientIds: (auth.client_id_binding === 'auto' ? usualBinding : auth.client_id_binding) === 'identity',
    sessionExpirySeconds: mqtt.session_expiry_interval / msPerSecond,
    maxSessionExpirySeconds: maxExpiryMs === undefined ? undefined : maxExpiryMs / msPerSecond,
    maxRetainedMessages: maxRetained === 0 ? undefined : maxRetained,
  }
}

function toAclConfig({ auth, node }: SettingValues, fileRules: readonly AclRule[]): AclConfig {
  const { acl, cache, http_auth: service } = auth
  const usesService = service.enable && service.acl_req.url !== undefined
  // If any rule is configured, actions without a rule are denied.
  const hasRules = acl.rules.length > 0 || acl.file !== undefined || service.acl_req.url !== undefined
  const defaultNoMatch = node.security_profile === 'hardened' && hasRules ? 'deny' : 'allow'
  return {
    rules: [...acl.rules, ...fileRules],
    file: acl.file,
    noMatch: auth.no_match ?? defaultNoMatch,
    denyAction: auth.deny_action,
    usesService,
    maxDecisions: cache.max_size,
    decisionTtlMs: service.cache_ttl > 0 ? service.cache_ttl : cache.ttl,
  }
}

function toHttpServerConfig(values: SettingValues, keyText: string | undefined): HttpServerConfig {
  const { http_server: http, dashboard } = values
  return {
    isEnabled: http.enable,
    port: http.port,
    host: http.ip_addr,
    maxRequests: http.parallel ?? http.limit_conn,
    maxBodyBytes: http.max_body,
    maxUploadBytes: http.max_upload,
    username: http.username,
    password: http.password,
    authType: http.auth_type,
    dashboard: dashboard.enable
      ? {
          allowedOrigins: dashboard.allow_origins,
          bind: dashboard.bind,
          listener: toDashboardListener(values),
          oidc: toOidcConfig(dashboard.oidc),
        }
      : undefined,
    jwt: { keyFile: http.jwt.public.keyfile, keyText, issuer: http.jwt.issuer, leewayMs: http.jwt.leeway },
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
