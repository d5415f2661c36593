// URLs of remote brokers: `mqtt-tcp://broker.example:1883`.

import type { SettingType } from './setting-type.ts'
import { createTypeProblem, toScalarText, showText } from './setting-type.ts'

export interface ServerUrl {
  readonly scheme: 'tcp' | 'tls' | 'ws' | 'wss' | 'quic'
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  /** For WebSocket, with a leading slash; '' for others. */
  readonly path: string
}

const schemes: ReadonlyMap<string, Pick<ServerUrl, 'scheme' | 'port'>> = new Map([
  ['mqtt-tcp', { scheme: 'tcp', port: 1_883 }],
  ['tcp', { scheme: 'tcp', port: 1_883 }],
  ['mqtt', { scheme: 'tcp', port: 1_883 }],
  ['tls+mqtt-tcp', { scheme: 'tls', port: 8_883 }],
  ['mqtts', { scheme: 'tls', port: 8_883 }],
  ['ssl', { scheme: 'tls', port: 8_883 }],
  ['mqtt-quic', { scheme: 'quic', port: 14_567 }],
  ['quic', { scheme: 'quic', port: 14_567 }],
  ['ws', { scheme: 'ws', port: 80 }],
  ['wss', { scheme: 'wss', port: 443 }],
])

const form = /^([a-z][a-z0-9+-]*):\/\/(\[[0-9a-f:.]+\]|[^[\]/:?#@\s]+)(?::([0-9]{1,5}))?(\/[^\s#]*)?$/i
const maxUrlLength = 2_048
const maxHostLength = 253
const maxPort = 65_535
const defaultPorts = 'mqtt-tcp://broker.example:1883'

/** The problem completes a sentence that starts with the URL. It never repeats credentials before `@`. */
export function parseServerUrl(text: string): { readonly url: ServerUrl } | { readonly problem: string } {
  if (text.length > maxUrlLength) return { problem: `is longer than ${maxUrlLength} characters` }
  if (text.includes('@')) return { problem: 'must not contain credentials: use username and password' }
  const [, scheme = '', host = '', port, path] = form.exec(text) ?? []
  if (host === '') return { problem: `is not of the form ${defaultPorts}` }
  const known = schemes.get(scheme.toLowerCase())
  if (known === undefined) return { problem: `has an unsupported scheme: use ${[...schemes.keys()].join(', ')}` }
  const number = port === undefined ? known.port : Number(port)
  if (number < 1 || number > maxPort) return { problem: `has no port from 1 to ${maxPort}` }
  if (host.length > maxHostLength) return { problem: 'has a host that is too long' }
  const isWebSocket = known.scheme === 'ws' || known.scheme === 'wss'
  if (path !== undefined && path !== '/' && !isWebSocket)
    return { problem: 'has a path, which is valid for WebSocket only' }
  const bare = host.startsWith('[') ? host.slice(1, -1) : host
  return { url: { scheme: known.scheme, host: bare, port: number, path: isWebSocket ? (path ?? '/mqtt') : '' } }
}

/** The text stays as it was written. */
export const serverUrl: SettingType<string> = {
  name: `the URL of a broker, such as ${defaultPorts}`,
  jsonSchema: { type: 'string' },
  read(value) {
    const text = toScalarText(value)
    if (text === undefined) return createTypeProblem(this.name, value)
    // Sample files contain "" for unused settings.
    if (text === '') return { value: text }
    const parsed = parseServerUrl(text)
    return 'problem' in parsed ? { problem: `the URL ${parsed.problem}` } : { value: text }
  },
  show: showText,
}

/** Host and port of a broker with TLS. */
export const serverAddress: SettingType<string> = {
  name: 'host:port of a broker, such as endpoint.example:8883',
  jsonSchema: { type: 'string' },
  read(value) {
    const text = toScalarText(value)
    if (text === undefined) return createTypeProblem(this.name, value)
    if (text === '') return { value: text }
    if (text.includes('/')) return { problem: 'the address is only host:port: TLS is always used' }
    const parsed = parseServerUrl(`mqtts://${text}`)
    return 'problem' in parsed ? { problem: `the address ${parsed.problem}` } : { value: text }
  },
  show: showText,
}
