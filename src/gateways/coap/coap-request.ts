// Parses a CoAP request: decodes path and query, and replaces short query names (`c`) by the full names (`clientid`).

import type { PeerAddress } from '../../transports/index.ts'
import { code, coapTypes, type CoapMessage, methods, options, readTexts } from './endpoint/coap-message.ts'

export interface CoapRequest {
  /** Undefined: not found. */
  readonly resource: 'connection' | 'topic' | 'core' | undefined
  /** Path segments of the topic. */
  readonly segments: readonly string[]
  readonly query: ReadonlyMap<string, string>
  readonly message: CoapMessage
}

/** Reason why a request is refused. `isDropped`: no response is sent. */
export interface RefusedRequest {
  readonly code: number
  readonly isDropped?: boolean
}

const shortNames: ReadonlyMap<string, string> = new Map([
  ['c', 'clientid'],
  ['u', 'username'],
  ['p', 'password'],
  ['t', 'token'],
  ['q', 'qos'],
  ['r', 'retain'],
])

const understood: ReadonlySet<number> = new Set<number>([
  options.ifMatch,
  options.uriHost,
  options.ifNoneMatch,
  options.uriPort,
  options.uriPath,
  options.uriQuery,
  options.accept,
  options.block2,
  options.block1,
])

export function readRequest(message: CoapMessage): CoapRequest | RefusedRequest {
  const { type, code: method } = message
  const isNon = type === coapTypes.non
  let isUnknown = false
  for (const { number } of message.options) {
    if (number === options.proxyUri || number === options.proxyScheme) return { code: code(5, 5) }
    // Odd numbers are critical [5.4.1]: a request with an unknown one must be refused.
    if (number % 2 === 1 && !understood.has(number)) isUnknown = true
  }
  if (isUnknown) return { code: code(4, 2), isDropped: isNon }
  if (method > methods.delete) return { code: code(4, 5) }
  const path = readTexts(message, options.uriPath)
  const queries = readTexts(message, options.uriQuery)
  if (path === undefined || queries === undefined) return { code: code(4, 0) }
  const query = new Map<string, string>()
  for (const text of queries) {
    const at = text.indexOf('=')
    const name = decodeOnce(at === -1 ? text : text.slice(0, at))
    query.set(shortNames.get(name) ?? name, at === -1 ? '' : decodeOnce(text.slice(at + 1)))
  }
  const { resource, segments } = parseResource(path.map(decodeOnce))
  return { resource, segments, query, message }
}

function parseResource(segments: readonly string[]): Pick<CoapRequest, 'resource' | 'segments'> {
  const [first, second] = segments
  if (first === '.well-known' && second === 'core' && segments.length === 2) return { resource: 'core', segments: [] }
  if (first === 'mqtt' && second === 'connection' && segments.length === 2)
    return { resource: 'connection', segments: [] }
  if (first === 'ps' || first === 'mqtt') return { resource: 'topic', segments: segments.slice(1) }
  return { resource: undefined, segments: [] }
}

/** Text with invalid percent-encoding is unchanged. */
function decodeOnce(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    // Most clients do not encode a %.
    return text
  }
}

/** A client without a client ID is identified by its address. */
export function readClientId({ query }: CoapRequest, { address, port }: PeerAddress): string {
  return query.get('clientid') ?? `coap-${address}-${port}`
}
