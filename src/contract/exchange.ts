// Calls and responses of the API, for every transport of the typed client. This file also runs in browsers: it imports
// no `node:` module.

/** Why there is no reply. */
export interface Failure {
  /**
   * `refused`: the API refused the call, or a path parameter was empty and the call was not sent. `unreachable`: no response.
   * `not-understood`: the response is not one of this API.
   */
  readonly kind: 'refused' | 'unreachable' | 'not-understood'
  /** Result code of the API; 107 for an empty path parameter; 0 without a response of the API. */
  readonly code: number
  /** HTTP status; 0 without a response. */
  readonly status: number
  readonly message: string
  /** Symbol of the refusal in version 5 of the API. */
  readonly reason?: string
  /** Details of a login that needs a one-time code. */
  readonly mfa?: Readonly<Record<string, string>>
}

export type Result<Reply> = { readonly reply: Reply } | { readonly failure: Failure }

/** A call of any endpoint, whose shape is known only at run time. */
export interface AnyCall {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

export interface CompleteResponse {
  readonly status: number
  readonly text: string
}

export function createUnreachableFailure(message: string): Failure {
  return { kind: 'unreachable', code: 0, status: 0, message }
}

/** Returns the path and query of a call. `url` has `:name` for a parameter. */
export function formatCallPath(url: string, { params = {}, query = {} }: AnyCall): string | Failure {
  const missing = [...url.matchAll(/:(\w+)/g)].find(([, name = '']) => (params[name] ?? '') === '')
  // With an empty last segment, the path would be the path of another operation.
  if (missing !== undefined) {
    return { kind: 'refused', code: 107, status: 0, message: `${missing[1]} must not be empty` }
  }
  const path = url.replaceAll(/:(\w+)/g, (_whole, name: string) => encodeUrlPart(params[name]))
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
  return pairs.length === 0 ? path : `${path}?${pairs.map((pair) => pair.map(encodeUrlPart).join('=')).join('&')}`
}

/** A lone surrogate of UTF-16 has no bytes in UTF-8; it is replaced by U+FFFD. */
function encodeUrlPart(value: unknown): string {
  return encodeURIComponent(String(value).toWellFormed())
}

/** Parses a complete response. */
export function parseResponse({ status, text }: CompleteResponse, isText: boolean): Result<unknown> {
  const isGood = status >= 200 && status < 300
  if (isGood && isText) return { reply: text }
  if (status === 204) return { reply: null }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (typeof value !== 'object' || value === null) {
    const message = `not a response of the API of Godwit: status ${status}`
    return { failure: { kind: 'not-understood', code: 0, status, message } }
  }
  const { code = 0, message = '', reason, mfa } = value as Partial<Failure>
  if (isGood && code === 0) return { reply: value }
  return { failure: { kind: 'refused', code, status, message, ...(reason && { reason }), ...(mfa && { mfa }) } }
}
