// Checks an HTTP request for a WebSocket connection, except for the WebSocket headers: its path, the origin, the
// subprotocol, and the client behind a proxy.

import type { IncomingHttpHeaders } from 'node:http'
import type { WebSocketConfig } from '../../config/index.ts'
import { parseProxiedAddress } from '../proxy/parse-proxied-address.ts'

export interface UpgradeRules extends Pick<
  WebSocketConfig,
  'path' | 'allowedOrigins' | 'failsWithoutSubprotocol' | 'addressHeader'
> {
  /** Only this machine can reach the listener. */
  readonly isLoopback: boolean
}

export interface UpgradeRequest {
  /** The URL as in the request line. */
  readonly url: string
  /** The version as in the request line: `1.1`. */
  readonly httpVersion: string
  readonly headers: IncomingHttpHeaders
}

export type UpgradeDecision =
  | { readonly allowed: false; readonly status: number; readonly why: string }
  | {
      readonly allowed: true
      /** Undefined: the address of the connection is the client's. */
      readonly clientAddress: string | undefined
    }

/** RFC 6455 4.1. Other versions were drafts. */
export const webSocketVersion = '13'

/** In order of preference. Clients of MQTT 3.1 offered the second one before a name was registered. */
const subprotocols = ['mqtt', 'mqttv3.1']

/** Checks everything except the WebSocket headers. */
export function checkUpgrade({ url, httpVersion, headers }: UpgradeRequest, rules: UpgradeRules): UpgradeDecision {
  // RFC 6455 4.2.1. A body that one reader sees as a body and another as frames is an attack.
  if (httpVersion !== '1.1' || hasBody(headers)) return refuse(400, 'an upgrade is a GET of HTTP/1.1 without a body')
  if (parsePath(url) !== rules.path) return refuse(404, `not found; MQTT is served under ${rules.path}`)
  if (!isOriginAllowed(headers.origin, rules)) {
    return refuse(403, 'pages of this origin may not connect; listeners.ws and listeners.wss: allow_origins')
  }
  // RFC 6455 4.4: the response to a draft version names the supported one.
  const version = headers['sec-websocket-version']
  if (version !== undefined && version !== webSocketVersion) {
    return refuse(426, `WebSocket version ${webSocketVersion} is required`)
  }
  const offered = parseSubprotocols(headers['sec-websocket-protocol'])
  if (selectSubprotocol(offered) === undefined && (offered.size > 0 || rules.failsWithoutSubprotocol)) {
    return refuse(400, 'offer the WebSocket subprotocol mqtt')
  }
  const named = rules.addressHeader === undefined ? undefined : headers[rules.addressHeader]
  const clientAddress = parseForwardedAddress(named)
  if (named !== undefined && clientAddress === undefined) return refuse(400, `${rules.addressHeader} has no address`)
  return { allowed: true, clientAddress }
}

/** [MQTT-6.0.0-4] Returns the selected subprotocol; undefined if none is supported. */
export function selectSubprotocol(offered: ReadonlySet<string>): string | undefined {
  return subprotocols.find((name) => offered.has(name))
}

/** Without the query, such as tokens, which is ignored. RFC 6455 4.2.1: it may be an absolute URL. */
export function parsePath(url: string): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '')
  const end = path.search(/[?#]/)
  return end === -1 ? path : path.slice(0, end)
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

function refuse(status: number, why: string): UpgradeDecision {
  return { allowed: false, status, why }
}

/**
 * A browser sends the origin of the page; other clients usually send none. Any page can reach a listener on the machine
 * of its reader, where anonymous clients are accepted because other machines cannot connect. So a loopback listener
 * accepts pages of this machine only, unless configured otherwise.
 */
function isOriginAllowed(origin: string | undefined, { allowedOrigins, isLoopback }: UpgradeRules): boolean {
  if (origin === undefined || allowedOrigins.includes('*')) return true
  if (allowedOrigins.length > 0) return allowedOrigins.some((each) => isSameOrigin(each, origin))
  return !isLoopback || isLoopbackOrigin(origin)
}

/** Scheme and host are case-insensitive, and browsers send lower case. */
function isSameOrigin(one: string, other: string): boolean {
  return one.toLowerCase().replace(/\/$/, '') === other.toLowerCase()
}

function isLoopbackOrigin(origin: string): boolean {
  if (!URL.canParse(origin)) return false
  const { hostname } = new URL(origin)
  return hostname === 'localhost' || hostname.endsWith('.localhost') || /^(127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}

function parseSubprotocols(header: string | undefined): ReadonlySet<string> {
  if (header === undefined) return new Set()
  return new Set(header.split(',').map((name) => name.trim()))
}

/** Proxies append: the last address is from the nearest proxy; earlier ones can be forged. */
function parseForwardedAddress(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header.join(',') : header
  const last = text?.split(',').at(-1)?.trim() ?? ''
  return parseProxiedAddress(last.replace(/^\[(.*)\]$/, '$1'))
}
