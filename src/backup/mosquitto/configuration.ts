// Converts mosquitto.conf to settings of Godwit: listeners, limits and paths of other files. Options without a counterpart are reported.

import type { Converted } from './converted.ts'
import type { SessionSource } from './sessions.ts'

export interface ConvertedConfiguration {
  /** A configuration file. */
  readonly text: string
  /** Paths as in the configuration of mosquitto; undefined: not configured. */
  readonly passwordFile: string | undefined
  readonly aclFile: string | undefined
  /** Undefined: nothing is persistent. */
  readonly databaseFile: string | undefined
  readonly sessionSource: SessionSource
}

interface MosquittoListener {
  readonly port: number
  readonly host: string | undefined
  protocol: string
  readonly options: Map<string, string>
}

/** Options of one listener. Other options apply to the whole broker. */
const listenerOptions: Readonly<Record<string, string>> = {
  certfile: 'certfile',
  keyfile: 'keyfile',
  cafile: 'cacertfile',
  crlfile: 'crlfile',
  psk_file: 'psk_file',
  max_connections: 'max_connections',
  mount_point: 'mountpoint',
}

/** Numbers with the same meaning. In mosquitto, 0 means no limit. */
const brokerNumbers: Readonly<Record<string, string>> = {
  max_inflight_messages: 'mqtt.max_inflight_window',
  max_queued_messages: 'mqtt.max_mqueue_len',
  max_packet_size: 'mqtt.max_packet_size',
}

/** Options that are omitted without a warning. */
const ignoredOptions: ReadonlySet<string> = new Set([
  'user',
  'pid_file',
  'autosave_interval',
  'autosave_on_changes',
  'log_dest',
  'log_type',
  'log_timestamp',
  'log_timestamp_format',
  'connection_messages',
  'set_tcp_nodelay',
  'per_listener_settings',
  'allow_zero_length_clientid',
  'socket_domain',
  'use_username_as_clientid',
  'sys_interval',
])

/** `aclFile`: name of the file with the converted access rules. */
export function convertConfiguration(
  text: string,
  names: { readonly aclFile: string },
): Converted<ConvertedConfiguration> {
  const reading = new ConfigurationReading()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const [, word = '', value = ''] = /^\s*([A-Za-z_]+)\s*(.*?)\s*$/.exec(line) ?? []
    if (word !== '') reading.read(word, value, index + 1)
  }
  return reading.result(names)
}

class ConfigurationReading {
  readonly #listeners: MosquittoListener[] = []
  /** Options before the first listener apply to the listener of `port`. */
  readonly #defaultOptions = new Map<string, string>()
  readonly #broker = new Map<string, string>()
  readonly #lines: string[] = []
  readonly #skipped: string[] = []
  /** Local client IDs of bridges; '': the bridge has a client ID that mosquitto generates. */
  readonly #bridgeClientIds = new Set<string>()
  #hasPlugin = false

  read(word: string, value: string, line: number): void {
    const current = this.#listeners.at(-1)
    if (word === 'connection') this.#bridgeClientIds.add('')
    if (word === 'local_clientid') this.#bridgeClientIds.add(value)
    if (word === 'plugin' || word === 'auth_plugin') this.#hasPlugin = true
    if (word === 'listener') {
      const [port = '', host] = value.split(/\s+/)
      if (!isPort(port)) return this.#skip(line, word, 'only TCP ports can be imported')
      this.#listeners.push({ port: Number(port), host, protocol: 'mqtt', options: new Map() })
    } else if (word === 'protocol' && current !== undefined) current.protocol = value
    else if (word in listenerOptions || word === 'require_certificate' || word === 'use_identity_as_username')
      (current?.options ?? this.#defaultOptions).set(word, value)
    else if (word in brokerNumbers) this.#readNumber(word, value, line)
    else if (brokerTexts.has(word)) this.#broker.set(word, value)
    else if (word === 'retain_available') this.#lines.push(`mqtt.retain_available = ${String(value === 'true')}`)
    else if (word === 'message_size_limit') this.#skip(line, word, 'set mqtt.max_packet_size')
    else if (!ignoredOptions.has(word)) this.#skip(line, word, reasons[word] ?? 'Godwit has no such setting')
  }

  result({ aclFile }: { readonly aclFile: string }): Converted<ConvertedConfiguration> {
    const files = { passwordFile: this.#broker.get('password_file'), aclFile: this.#broker.get('acl_file') }
    const lines = [...this.#listenerLines(), ...this.#lines]
    const isOpen =
      this.#broker.get('allow_anonymous') ?? String(this.#listeners.length === 0 && !this.#broker.has('port'))
    lines.push(`auth.allow_anonymous = ${String(isOpen === 'true')}`)
    if (files.passwordFile !== undefined) lines.push('auth.password.enable = true')
    if (files.aclFile !== undefined) lines.push(`auth.acl.file = ${JSON.stringify(aclFile)}`, 'auth.no_match = deny')
    else lines.push('auth.no_match = allow')
    const text = `# Made from mosquitto.conf by "godwit import mosquitto".\n${lines.join('\n')}\n`
    const databaseFile = this.#databaseFile()
    return { value: { text, ...files, databaseFile, sessionSource: this.#sessionSource() }, skipped: this.#skipped }
  }

  #sessionSource(): SessionSource {
    const own = { port: Number(this.#broker.get('port') ?? 1_883), options: this.#defaultOptions }
    const listeners = [own, ...this.#listeners]
    const mountpoints = listeners.flatMap(({ port, options }): [number, string][] => {
      const mountpoint = options.get('mount_point')
      return mountpoint === undefined ? [] : [[port, mountpoint]]
    })
    const bridgeClientIds = new Set(this.#bridgeClientIds)
    const hasBridges = bridgeClientIds.delete('')
    return {
      mountpoints: new Map(mountpoints),
      verifiesUsernames:
        this.#hasPlugin ||
        this.#broker.has('password_file') ||
        listeners.some(({ options }) => options.has('psk_file') || options.has('use_identity_as_username')),
      isBridge: (clientId) => bridgeClientIds.has(clientId) || (hasBridges && clientId.startsWith('local.')),
    }
  }

  #readNumber(word: string, value: string, line: number): void {
    if (value === '0') return this.#skip(line, word, 'Godwit has no setting for no limit: the default applies')
    if (!/^\d{1,9}$/.test(value)) return this.#skip(line, word, 'it is not a number')
    this.#lines.push(`${brokerNumbers[word] ?? ''} = ${value}`)
  }

  #databaseFile(): string | undefined {
    if (this.#broker.get('persistence') !== 'true') return undefined
    const folder = this.#broker.get('persistence_location') ?? ''
    const name = this.#broker.get('persistence_file') ?? 'mosquitto.db'
    return folder === '' || folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`
  }

  #listenerLines(): string[] {
    const port = this.#broker.get('port')
    // Without a listener mosquitto 2 serves loopback only.
    const host = this.#broker.get('bind_address') ?? (port === undefined ? '127.0.0.1' : undefined)
    const wantsDefault = port !== undefined || this.#listeners.length === 0
    const own = { port: Number(port ?? 1_883), host, protocol: 'mqtt', options: this.#defaultOptions }
    const all = wantsDefault ? [own, ...this.#listeners] : this.#listeners
    const byKind = new Map<string, number>()
    const lines = all.flatMap((listener) => {
      const kind = kindOf(listener)
      const count = byKind.get(kind) ?? 0
      byKind.set(kind, count + 1)
      return linesOf(listener, `listeners.${kind}.${count === 0 ? 'default' : `port${listener.port}`}`)
    })
    return byKind.has('tcp') ? lines : [...lines, 'listeners.tcp.default.enable = false']
  }

  #skip(line: number, word: string, why: string): void {
    this.#skipped.push(`mosquitto.conf, line ${line}: ${word}: ${why}`)
  }
}

const brokerTexts: ReadonlySet<string> = new Set([
  'port',
  'bind_address',
  'allow_anonymous',
  'password_file',
  'acl_file',
  'persistence',
  'persistence_location',
  'persistence_file',
])

const bridge = 'bridges are not imported: see docs/BRIDGES.md'

const reasons: Readonly<Record<string, string>> = {
  connection: bridge,
  address: bridge,
  addresses: bridge,
  topic: bridge,
  plugin: 'plugins are not imported; users and rules of the dynamic security plugin have to be created again',
  auth_plugin: 'plugins are not imported',
  include_dir: 'run the import with each of its files',
  persistent_client_expiration: 'set mqtt.session_expiry_interval',
  max_keepalive: 'set mqtt.server_keepalive',
  capath: 'name one file of authorities with cacertfile',
}

function kindOf({ protocol, options }: MosquittoListener): string {
  const isSecure = options.has('certfile') || options.has('psk_file')
  if (protocol === 'websockets') return isSecure ? 'wss' : 'ws'
  return isSecure ? 'ssl' : 'tcp'
}

function linesOf({ port, host, options }: MosquittoListener, key: string): string[] {
  const lines = [`${key}.bind = ${JSON.stringify(`${hostInUrl(host ?? '0.0.0.0')}:${port}`)}`]
  for (const [name, value] of options) {
    const own = listenerOptions[name]
    if (name === 'require_certificate' && value === 'true')
      lines.push(`${key}.verify_peer = true`, `${key}.fail_if_no_peer_cert = true`)
    else if (name === 'use_identity_as_username' && value === 'true')
      lines.push(`${key}.peer_cert_as_username = cn`, 'auth.certificate.enable = true')
    else if (name === 'max_connections' && value === '-1') continue
    else if (own !== undefined)
      lines.push(`${key}.${own} = ${name === 'max_connections' ? value : JSON.stringify(value)}`)
  }
  if (options.has('psk_file')) lines.push(`${key}.psk = true`, 'auth.psk.enable = true')
  return lines
}

const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host)
const isPort = (word: string): boolean => /^\d{1,5}$/.test(word) && Number(word) >= 1 && Number(word) <= 65_535
