// What somebody sends for a bridge, in whichever of the spellings that are about, as settings of the configuration. What a
// setting may be is not looked at here: the configuration checks it.

import { tlsOfBridge, mask, type MqttBridgeConfig } from '../config/index.ts'
import type { BridgeFile } from './operations/bridges.ts'

export type Sent = Readonly<Record<string, unknown>>

/** Settings of a bridge, and files that are to be written for it. */
export interface ReadBridge {
  readonly settings: Readonly<Record<string, unknown>>
  readonly pems: readonly { readonly file: BridgeFile; readonly pem: string }[]
}

/** Absent: the default. `enable`, `max_parallel_processes` and what the API does not show stay as they are. */
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
  'max_send_queue_len',
  'max_recv_queue_len',
] as const

/** By the other name of a setting. */
const otherNames: Readonly<Record<string, string>> = {
  parallel: 'max_parallel_processes',
  quic_multi_stream: 'multi_stream',
}

export function isSentObject(value: unknown): value is Sent {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `bridge`: as it is now. A problem is a sentence. */
export function readBridgeNode(node: Sent, bridge: MqttBridgeConfig): ReadBridge | { readonly problem: string } {
  const { connector, ...outer } = node
  if (connector !== undefined && !isSentObject(connector)) return { problem: 'connector is not an object' }
  const settings: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const key of replaced) settings[key] = null
  const pems: { file: BridgeFile; pem: string }[] = []
  for (const [key, value] of [...Object.entries(connector ?? {}), ...Object.entries(outer)]) {
    // What is shown of it and is no setting may be sent back.
    if (key === 'name' || key === 'status') continue
    if (key === 'tls' || key === 'ssl') {
      if (value === null) continue
      if (!isSentObject(value)) return { problem: `${key} is not an object` }
      settings['tls'] = readTls(value, bridge, pems)
    } else if (key === 'conn_properties') settings[key] = withUserProperty(value, connectDefaults)
    else if (key === 'sub_properties') settings[key] = withUserProperty(value, { identifier: null })
    else if (key === 'will_properties') settings['will'] = { properties: withUserProperty(value, {}) }
    else settings[otherNames[key] ?? key] = value
  }
  settings['tls'] ??= readTls({}, bridge, pems)
  return { settings, pems }
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

/** Files come by name or as what stands in them. */
function readTls(sent: Sent, bridge: MqttBridgeConfig, pems: { file: BridgeFile; pem: string }[]): Sent {
  const now = tlsOfBridge(bridge)
  const tls: Record<string, unknown> = { ...tlsDefaults }
  for (const [key, value] of Object.entries(sent)) {
    if (key === 'url') continue
    const file = Object.hasOwn(files, key) ? files[key as keyof typeof files] : asFile(key)
    if (file === undefined) {
      tls[key] = key === 'key_password' && value === mask ? (now.key_password ?? null) : value
    } else if (value === mask) tls[file] = now[file] ?? null
    else if (typeof value === 'string' && value.trimStart().startsWith('-----BEGIN ')) {
      pems.push({ file, pem: value })
    } else tls[file] = value === '' ? null : value
  }
  return tls
}

function asFile(key: string): BridgeFile | undefined {
  return key === 'certfile' || key === 'keyfile' || key === 'cacertfile' ? key : undefined
}

/** A list of keys and values is another way of writing a map. */
export function withUserProperty(sent: unknown, defaults: Sent): unknown {
  if (!isSentObject(sent)) return sent
  const { user_properties: list, ...others } = sent
  if (list === undefined) return { ...defaults, ...others }
  if (!Array.isArray(list)) return { ...defaults, ...others, user_property: list }
  const entries = list.map((item: unknown): [string, unknown] =>
    isSentObject(item) ? [String(item['key']), item['value'] ?? null] : ['', item],
  )
  return { ...defaults, ...others, user_property: Object.fromEntries(entries) }
}
