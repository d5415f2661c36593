// Entry point of the module config: parsing, checked values, and documentation of settings. It reads no files.

export { toNetwork } from './acl/to-network.ts'
export { readAclTopic, readLiteral, type AclRule, type AclTopic, type AclSubject } from './acl/acl-rule.ts'
export { isInRange, parseAddress, parseAddressRange, type Address, type AddressRange } from './acl/address-range.ts'
export { readAclFile, type AclFile } from './acl/read-acl-file.ts'
export {
  compareConfigs,
  toApplyResult,
  describeAsObject,
  describeSection,
  describeConfig,
  type DescribedValue,
  type Difference,
} from './compare-configs.ts'
export { mask } from './secrets/mask.ts'
export { hasMaskedUrl, maskUrlSecrets, restoreUrlSecrets } from './secrets/url-secrets.ts'
export type { SettingText } from './check/check-settings.ts'
export type { NamedPath } from './schema/named-path.ts'
export type { AclConfig } from './acl-config.ts'
export { defaultFailedLoginConfig } from './auth-config.ts'
export type {
  AuthConfig,
  FailedLoginConfig,
  HttpAuthConfig,
  HttpAuthLimits,
  HttpRequestConfig,
  JwtConfig,
  ConfiguredCredential,
  ConfiguredScramUser,
} from './auth-config.ts'
export { createConfigError, formatConfigError, type ConfigError, type Warning } from './hocon/config-errors.ts'
export type { FallbackAction } from './schema/fallback-actions.ts'
export {
  toPlainAction,
  type PlainRuleAction,
  type RepublishArguments,
  type RuleActionConfig,
  listWithFallbacks,
} from './schema/rule-action.ts'
export type {
  ActionsConfig,
  GatewaysConfig,
  BridgesConfig,
  ConnectorsConfig,
  RuleEngineConfig,
  DiskCacheConfig,
  FlappingConfig,
  ClusterConfig,
  GodwitConfig,
  LimitsConfig,
  LogConfig,
  LogLevel,
  MqttBridgeConfig,
  NamespacesConfig,
  NodeConfig,
  SecurityProfile,
  SourcesConfig,
  StorageConfig,
  SyncConfig,
} from './godwit-config.ts'
export { type OptionalFields, readSettingFields, type SettingFields } from './schema/setting-fields.ts'
export { mqttBridge } from './settings/bridges.ts'
export { gatewayEntries } from './settings/gateways.ts'
export type {
  CertificateField,
  CertificateFilesConfig,
  CertificateNames,
  ClientFields,
  ListenerConfig,
  ListenerFields,
  NamedCertificateFilesConfig,
  ProxyProtocolConfig,
  QuicConfig,
  TlsConfig,
  WebSocketConfig,
} from './listener-config.ts'
export type { CoreConfig } from './core-config.ts'
export type { DashboardConfig, HttpServerConfig, RequestLimits } from './http-server-config.ts'
export { reservedPluginNames, type PluginsConfig, type PluginSettingsConfig } from './plugins-config.ts'
export type { OidcConfig } from './oidc-config.ts'
export { isSafeAddress } from './check/check-oidc.ts'
export { toTlsConfig } from './listener-config.ts'
export { isPeerVerified } from './is-peer-verified.ts'
export type { AccessRule } from './schema/access-rule.ts'
export { describeNewEntries, describeSettings, type DescribedSetting } from './write/setting-list.ts'
export { hoconLimits } from './hocon/hocon-limits.ts'
export type { IncludeReader } from './hocon/reading.ts'
export { fromPlain } from './hocon/from-plain.ts'
export {
  createEmptyObject,
  mergeObjects,
  putValue,
  putValues,
  findConfigValue,
  omitValue,
  omitValues,
} from './hocon/merge.ts'
export { parseHocon, type HoconOptions } from './hocon/parse-hocon.ts'
export type { Environment } from './hocon/resolve.ts'
export {
  toPlain,
  type ConfigArray,
  type ConfigObject,
  type ConfigScalar,
  type ConfigValue,
  type PlainValue,
  type Position,
} from './hocon/config-values.ts'
export { writeExampleFile } from './write/example-file.ts'
export { writeJsonSchema } from './write/json-schema.ts'
export { writeReferencePage } from './write/reference-page.ts'
export { parseOverride } from './hocon/parse-override.ts'
export { toAwsAddress, createAwsBridges, isAwsSetting, parseAwsBridgeName } from './aws-bridges.ts'
export { deriveNanoMqRules, parseServer } from './derive-nanomq-rules.ts'
export type { DerivedAction, DerivedRules } from './derived-rules.ts'
export { deriveWebhookRules } from './derive-webhook-rules.ts'
export { formatCreateTableStatement, formatInsertStatement, isTableName, type TableRow } from './insert-statement.ts'
export { toBridgeConfig, type MqttConnectorConfig, type MqttSource } from './mqtt-source-bridge.ts'
export { defaultFlappingConfig, toSpoolMessages, resolveSpoolPolicy, selectBridgeTls } from './godwit-config.ts'
export { parseServerUrl, type ServerUrl } from './schema/server-url.ts'
export { localSettings } from './check/local-setting-keys.ts'
export { loadConfig, type ConfigSources, type LoadedConfig } from './load-config.ts'
export { findNearestKey } from './check/find-nearest-key.ts'
