// The options of mosquitto.conf (1.4 to 2.1) by their treatment. Options that are in no table are reported as unknown.

/** Options of one listener with the same meaning and values here. */
export const listenerSettings: Readonly<Record<string, string>> = {
  certfile: 'certfile',
  keyfile: 'keyfile',
  cafile: 'cacertfile',
  crlfile: 'crlfile',
  max_connections: 'max_connections',
  mount_point: 'mountpoint',
}

/** Other options of one listener that change its settings. */
export const listenerOptions: ReadonlySet<string> = new Set([
  'bind_interface',
  'capath',
  'ciphers',
  'ciphers_tls1.3',
  'listener_allow_anonymous',
  'psk_hint',
  'require_certificate',
  'socket_domain',
  'tls_version',
  'use_identity_as_username',
  'use_subject_as_username',
  'use_username_as_clientid',
  'websockets_origin',
])

/** Options of one listener if `per_listener_settings` is true, otherwise of all. */
export const securityOptions: ReadonlySet<string> = new Set([
  'acl_file',
  'allow_anonymous',
  'password_file',
  'psk_file',
])

/** They load code that can allow and deny anything. */
export const pluginOptions: ReadonlySet<string> = new Set([
  'auth_plugin',
  'plugin',
  'plugin_load',
  'plugin_use',
  'global_plugin',
])

export const brokerTexts: ReadonlySet<string> = new Set([
  'port',
  'bind_address',
  'persistence',
  'persistence_location',
  'persistence_file',
])

/** Options that are true or false. mosquitto takes 1 and 0 as well. */
export const booleans: ReadonlySet<string> = new Set([
  'allow_anonymous',
  'listener_allow_anonymous',
  'per_listener_settings',
  'persistence',
  'require_certificate',
  'retain_available',
  'use_identity_as_username',
  'use_subject_as_username',
  'use_username_as_clientid',
])

/** Numbers with the same meaning. In mosquitto, 0 means no limit. */
export const brokerNumbers: Readonly<Record<string, string>> = {
  max_inflight_messages: 'mqtt.max_inflight_window',
  max_queued_messages: 'mqtt.max_mqueue_len',
  max_packet_size: 'mqtt.max_packet_size',
}

/** Options without effect on clients, or without a meaning here. */
const ignoredOptions: ReadonlySet<string> = new Set([
  'allow_duplicate_messages',
  'auth_plugin_deny_special_chars',
  'auto_id_prefix',
  'autosave_interval',
  'autosave_on_changes',
  'connection_messages',
  'dhparamfile',
  'log_dest',
  'log_facility',
  'log_timestamp',
  'log_timestamp_format',
  'log_type',
  'pid_file',
  'retry_interval',
  'set_tcp_nodelay',
  'store_clean_interval',
  'sys_interval',
  'user',
  'websockets_headers_size',
  'websockets_log_level',
])

/** Options of bridges, which are reported by their `connection`. */
const bridgeOptions: ReadonlySet<string> = new Set([
  'address',
  'addresses',
  'attempt_unsubscribe',
  'cleansession',
  'clientid',
  'idle_timeout',
  'keepalive_interval',
  'local_cleansession',
  'local_clientid',
  'local_password',
  'local_username',
  'notification_topic',
  'notifications',
  'notifications_local_only',
  'password',
  'remote_clientid',
  'remote_password',
  'remote_username',
  'restart_timeout',
  'round_robin',
  'start_type',
  'threshold',
  'topic',
  'try_private',
  'username',
])

export function isIgnored(word: string): boolean {
  return ignoredOptions.has(word) || bridgeOptions.has(word) || /^(?:bridge|auth_opt|plugin_opt)_/.test(word)
}

/** Options that refuse clients or topics. Without them the import would allow more, so it stops. */
export const refusedOptions: Readonly<Record<string, string>> = {
  clientid_prefixes: 'Godwit cannot restrict client IDs to prefixes, so clients that mosquitto refuses could connect',
}

const noSetting = 'Godwit has no such setting'

const reasons: Readonly<Record<string, string>> = {
  connection: 'bridges are not imported: see docs/BRIDGES.md',
  message_size_limit: 'set mqtt.max_packet_size',
  persistent_client_expiration: 'set mqtt.session_expiry_interval',
  max_keepalive: 'set mqtt.server_keepalive',
  max_qos: 'set mqtt.max_qos_allowed, which applies to all listeners',
  max_topic_alias: 'set mqtt.max_topic_alias, which applies to all listeners',
  upgrade_outgoing_qos: 'set mqtt.upgrade_qos',
  accept_protocol_versions: 'Godwit accepts MQTT 3.1, 3.1.1 and 5.0',
  queue_qos0_messages: 'Godwit does not queue messages of QoS 0 for imported sessions',
  allow_zero_length_clientid: 'Godwit gives a client with an empty client ID a generated one',
  check_retain_source: 'Godwit checks the rights of publishers of retained messages when it delivers them',
}

export function findReason(word: string): string {
  return reasons[word] ?? noSetting
}

export const pluginReason =
  'plugins are not imported; users and rules of the dynamic security plugin have to be created again'
