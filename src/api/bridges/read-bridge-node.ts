// Converts a bridge in a request, in any of the known spellings, into settings of the configuration, which validates
// them.

import { selectBridgeTls, mask, type MqttBridgeConfig } from '../../config/index.ts'
import type { BridgeFile } from './configured-bridges.ts'

export type Sent = Readonly<Record<string, unknown>>

/** Settings of a bridge, and files to write for it. */
export interface ReadBridge {
  readonly settings: Readonly<Record<string, unknown>>
  readonly pems: readonly { readonly file: BridgeFile; readonly pem: string }[]
}

/** Absent: the default. `enable` and `max_parallel_processes` stay unchanged. */
const replaced = [
  'server',
  'proto_ver',
  'clientid',
  'keepalive',
  'clean_start',
  'username',
  'password',
  'forwards',
  'subscription',
  'quic_keepalive',
  'quic_idle_timeout',
  'quic_discon_timeout',
  'quic_handshake_timeout',
  'quic_send_idle_timeout',
  'quic_initial_rtt_ms',
  'quic_max_ack_delay_ms',
  'quic_multi_stream',
  'multi_stream',
  'quic_qos_priority',
  'quic_0rtt',
  'hybrid_bridging',
  'hybrid_servers',
  'max_send_queue_len',
  'max_recv_queue_len',
  'backoff_max',
  'cancel_timeout',
  'resend_interval',
  'resend_wait',
  'retry_qos_0',
  'no_local_v4',
  'transparent',
  'spool_max_messages',
  'spool_full_policy',
] as const

/** By the other name of a setting. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['parallel', 'max_parallel_processes'],
  ['quic_multi_stream', 'multi_stream'],
])

export function isSentObject(value: unknown): value is Sent {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `bridge`: its current settings; undefined: it is created. A problem is a sentence. */
export function readBridgeNode(
  node: Sent,
  bridge: MqttBridgeConfig | undefined,
): ReadBridge | { readonly problem: string } {
  const { connector, ...outer } = node
  if (connector !== undefined && !isSentObject(connector)) return { problem: 'connector is not an object' }
  const settings: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const key of replaced) settings[key] = null
  for (const [key, defaults] of Object.entries(groups)) settings[key] = defaults
  const pems: { file: BridgeFile; pem: string }[] = []
  for (const [key, value] of [...Object.entries(connector ?? {}), ...Object.entries(outer)]) {
    // Fields of a response that are not settings may be sent back.
    if (key === 'name' || key === 'status') continue
    if (key === 'tls' || key === 'ssl') {
      if (value === null) continue
      if (!isSentObject(value)) return { problem: `${key} is not an object` }
      settings['tls'] = readTls(value, bridge, pems)
    } else if (key === 'will_properties') settings['will'] = mergeWill(settings['will'], { properties: value })
    else if (key === 'will') settings['will'] = mergeWill(settings['will'], value ?? {})
    else if (isGroup(key)) settings[key] = replaceUserProperties(value ?? {}, groups[key])
    else settings[otherNames.get(key) ?? key] = value
  }
  settings['tls'] ??= readTls({}, bridge, pems)
  return { settings, pems }
}

const noTcp = {
  bind_interface: null,
  nodelay: null,
  keepalive: null,
  quickack: null,
  keepidle: null,
  keepintvl: null,
  keepcnt: null,
  sendtimeo: null,
  recvtimeo: null,
}

const noWillProperties = {
  payload_format_indicator: null,
  message_expiry_interval: null,
  will_delay_interval: null,
  content_type: null,
  response_topic: null,
  correlation_data: null,
  user_property: null,
}

const connectDefaults = {
  session_expiry_interval: null,
  receive_maximum: null,
  maximum_packet_size: null,
  topic_alias_maximum: null,
  request_problem_info: null,
  request_response_info: null,
  request_problem_information: null,
  request_response_information: null,
  request_problem_infomation: null,
  request_response_infomation: null,
  user_property: null,
}

/** Values of a group that is absent, or of its absent settings. */
const groups = {
  conn_properties: connectDefaults,
  sub_properties: { identifier: null, user_property: null },
  unsub_properties: { identifier: null, user_property: null },
  tcp: noTcp,
  will: { topic: null, payload: null, qos: null, retain: null, properties: noWillProperties },
}

function isGroup(key: string): key is keyof typeof groups {
  return Object.hasOwn(groups, key)
}

/** The will is replaced as a whole; its properties are in it or in the properties of the connection. */
function mergeWill(before: unknown, sent: unknown): unknown {
  if (!isSentObject(before) || !isSentObject(sent)) return sent
  const { properties, ...others } = sent
  if (properties === undefined) return { ...before, ...others }
  return { ...before, ...others, properties: replaceUserProperties(properties, noWillProperties) }
}

const files = { cert: 'certfile', key: 'keyfile', cacert: 'cacertfile' } as const
const tlsDefaults = {
  enable: null,
  keyfile: null,
  key_password: null,
  certfile: null,
  cacertfile: null,
  verify_peer: null,
  fail_if_no_peer_cert: null,
}

/** Files are names or contents. */
function readTls(sent: Sent, bridge: MqttBridgeConfig | undefined, pems: { file: BridgeFile; pem: string }[]): Sent {
  const now = bridge === undefined ? undefined : selectBridgeTls(bridge)
  const tls: Record<string, unknown> = { ...tlsDefaults }
  for (const [key, value] of Object.entries(sent)) {
    if (key === 'url') continue
    const file = Object.hasOwn(files, key) ? files[key as keyof typeof files] : toFileKey(key)
    if (file === undefined) {
      tls[key] = key === 'key_password' && value === mask ? (now?.key_password ?? null) : value
    } else if (value === mask) tls[file] = now?.[file] ?? null
    else if (typeof value === 'string' && value.trimStart().startsWith('-----BEGIN ')) {
      pems.push({ file, pem: value })
    } else tls[file] = value === '' ? null : value
  }
  return tls
}

function toFileKey(key: string): BridgeFile | undefined {
  return key === 'certfile' || key === 'keyfile' || key === 'cacertfile' ? key : undefined
}

/** A list of keys and values is another form of a map. */
export function replaceUserProperties(sent: unknown, defaults: Sent): unknown {
  if (!isSentObject(sent)) return sent
  const { user_properties: list, ...others } = sent
  if (list === undefined) return { ...defaults, ...others }
  if (!Array.isArray(list)) return { ...defaults, ...others, user_property: list }
  const entries = list.map((item: unknown): [string, unknown] =>
    isSentObject(item) ? [String(item['key']), item['value'] ?? null] : ['', item],
  )
  return { ...defaults, ...others, user_property: Object.fromEntries(entries) }
}
