// What is asked of an HTTP request that wants to become a WebSocket connection, before the WebSocket itself is looked at:
// the path, the page that it comes from, the subprotocol, and who the client is behind a proxy.

import type { IncomingHttpHeaders } from 'node:http'
import { proxiedAddress } from './proxied-address.ts'

export interface UpgradeRules {
  /** The only path under which connections are taken: `/mqtt`. */
  readonly path: string
  /**
   * Origins whose pages may connect, as browsers send them (`https://app.example.org`); `*`: those of all pages. Empty:
   * all pages, but only pages of this machine if the listener is on loopback.
   */
  readonly allowedOrigins: readonly string[]
  /** Only this machine can reach the listener. */
  readonly isLoopback: boolean
  /** A client that offers no subprotocol is refused [MQTT-6.0.0-3]. */
  readonly failsWithoutSubprotocol: boolean
  /** Lower-case name of the header in which a proxy names the real client; undefined: there is no such proxy. */
  readonly addressHeader: string | undefined
}

export interface UpgradeRequest {
  /** As it stands in the request line. */
  readonly url: string
  /** `1.1`, as it stands there. */
  readonly httpVersion: string
  readonly headers: IncomingHttpHeaders
}

export type UpgradeDecision =
  | { readonly allowed: false; readonly status: number; readonly why: string }
  | {
      readonly allowed: true
      /** Undefined: the address that the connection comes from is the client's. */
      readonly clientAddress: string | undefined
    }

/** RFC 6455 4.1. Others were drafts. */
export const webSocketVersion = '13'

/** In the order of preference. The second is what clients of MQTT 3.1 offered before there was a registered name. */
const subprotocols = ['mqtt', 'mqttv3.1']

/** Looks at everything that can be wrong but for the WebSocket headers themselves. */
export function checkUpgrade({ url, httpVersion, headers }: UpgradeRequest, rules: UpgradeRules): UpgradeDecision {
  // RFC 6455 4.2.1. What would be a body to one reader and frames to another has no place in between.
  if (httpVersion !== '1.1' || hasBody(headers)) return refuse(400, 'an upgrade is a GET of HTTP/1.1 without a body')
  if (pathOf(url) !== rules.path) return refuse(404, `nothing is here; MQTT is served under ${rules.path}`)
  if (!isOriginAllowed(headers.origin, rules)) {
    return refuse(403, 'pages of this origin may not connect; listeners.ws and listeners.wss: allow_origins')
  }
  // RFC 6455 4.4: a drafted version of the protocol is answered with the one that is spoken here.
  const version = headers['sec-websocket-version']
  if (version !== undefined && version !== webSocketVersion) {
    return refuse(426, `WebSocket version ${webSocketVersion} is spoken here`)
  }
  const offered = offeredSubprotocols(headers['sec-websocket-protocol'])
  if (preferredSubprotocol(offered) === undefined && (offered.size > 0 || rules.failsWithoutSubprotocol)) {
    return refuse(400, 'offer the WebSocket subprotocol mqtt')
  }
  const named = rules.addressHeader === undefined ? undefined : headers[rules.addressHeader]
  const clientAddress = lastForwardedAddress(named)
  if (named !== undefined && clientAddress === undefined) return refuse(400, `${rules.addressHeader} has no address`)
  return { allowed: true, clientAddress }
}

/** [MQTT-6.0.0-4] The one that is selected; undefined: none that we know is among them. */
export function preferredSubprotocol(offered: ReadonlySet<string>): string | undefined {
  return subprotocols.find((name) => offered.has(name))
}

/**
 * Without what stands behind a question mark: tokens and the like are nothing that we look at. RFC 6455 4.2.1: a whole address
 * may stand there as well.
 */
export function pathOf(url: string): string {
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
 * A browser tells which page a connection comes from; other clients mostly say nothing. A page from anywhere can reach
 * what listens on the machine of its reader, where anonymous clients are accepted because other machines cannot connect: so a loopback listener
 * has pages of this machine only, unless it is told otherwise.
 */
function isOriginAllowed(origin: string | undefined, { allowedOrigins, isLoopback }: UpgradeRules): boolean {
  if (origin === undefined || allowedOrigins.includes('*')) return true
  if (allowedOrigins.length > 0) return allowedOrigins.some((each) => sameOrigin(each, origin))
  return !isLoopback || isLoopbackOrigin(origin)
}

/** Scheme and host have no upper and lower case, and browsers write them in lower case. */
function sameOrigin(one: string, other: string): boolean {
  return one.toLowerCase().replace(/\/$/, '') === other.toLowerCase()
}

function isLoopbackOrigin(origin: string): boolean {
  if (!URL.canParse(origin)) return false
  const { hostname } = new URL(origin)
  return hostname === 'localhost' || hostname.endsWith('.localhost') || /^(127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}

function offeredSubprotocols(header: string | undefined): ReadonlySet<string> {
  if (header === undefined) return new Set()
  return new Set(header.split(',').map((name) => name.trim()))
}

/** Proxies append: the last address is from the proxy next to us; earlier ones can be forged. */
function lastForwardedAddress(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header.join(',') : header
  const last = text?.split(',').at(-1)?.trim() ?? ''
  return proxiedAddress(last.replace(/^\[(.*)\]$/, '$1'))
}
