// Parses a CoAP request: path and query, decoded, with their short names.

import { code, coapTypes, type CoapMessage, methods, options, textsOf } from './message.ts'

export interface CoapRequest {
  /** Undefined: not found. */
  readonly resource: 'connection' | 'topic' | 'core' | undefined
  /** Of the topic. */
  readonly segments: readonly string[]
  readonly query: ReadonlyMap<string, string>
  /** Path and query as received, which identify the blocks of one body. */
  readonly target: string
}

/** Why a request is refused. `isDropped`: without a response. */
export interface RefusedRequest {
  readonly code: number
  readonly isDropped?: boolean
}

const shortNames: Readonly<Record<string, string>> = {
  c: 'clientid',
  u: 'username',
  p: 'password',
  t: 'token',
  q: 'qos',
  r: 'retain',
}

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
  if (message.options.some(({ number }) => number === options.proxyUri || number === options.proxyScheme))
    return { code: code(5, 5) }
  // Odd numbers are critical [5.4.1]: a request with an unknown one must be refused.
  const isUnknown = message.options.some(({ number }) => number % 2 === 1 && !understood.has(number))
  if (isUnknown) return { code: code(4, 2), isDropped: isNon }
  if (method > methods.delete) return { code: code(4, 5) }
  const path = textsOf(message, options.uriPath)
  const queries = textsOf(message, options.uriQuery)
  if (path === undefined || queries === undefined) return { code: code(4, 0) }
  const segments = path.map(decodeOnce)
  const query = new Map<string, string>()
  for (const text of queries) {
    const [name, value] = splitOnce(text)
    const decoded = decodeOnce(name)
    query.set(shortNames[decoded] ?? decoded, decodeOnce(value))
  }
  const target = `${path.join('/')}?${queries.join('&')}`
  return { ...resourceOf(segments), query, target }
}

function resourceOf(segments: readonly string[]): Pick<CoapRequest, 'resource' | 'segments'> {
  const [first, second] = segments
  if (first === '.well-known' && second === 'core' && segments.length === 2) return { resource: 'core', segments: [] }
  if (first === 'mqtt' && second === 'connection' && segments.length === 2)
    return { resource: 'connection', segments: [] }
  if (first === 'ps' || first === 'mqtt') return { resource: 'topic', segments: segments.slice(1) }
  return { resource: undefined, segments: [] }
}

function splitOnce(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
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
