// A configured request with the values of one client.

import { fillPlaceholders, type Placeholders } from '../authenticators/placeholders.ts'
import type { HttpRequest } from './http-client.ts'

/** One of `auth.http_auth.auth_req`, `super_req` and `acl_req`. */
export interface HttpRequestSettings {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** With placeholders. */
  readonly params: readonly (readonly [name: string, value: string])[]
}

/** Headers that the HTTP client sets itself. */
const reservedHeaders: ReadonlySet<string> = new Set([
  'content-length',
  'transfer-encoding',
  'connection',
  'expect',
  'upgrade',
])

const form = 'application/x-www-form-urlencoded'

/** GET: parameters in the URL. POST: as JSON if the content type says so, otherwise as a form. */
export function fillRequest(request: HttpRequestSettings, values: Placeholders): HttpRequest {
  const url = new URL(request.url)
  const headers: Record<string, string> = {}
  for (const [name, value] of request.headers) {
    const lowerCase = name.toLowerCase()
    if (!reservedHeaders.has(lowerCase)) headers[lowerCase] = value
  }
  const params = request.params.map(([name, pattern]): [string, string] => [name, fillPlaceholders(pattern, values)])
  if (request.method === 'GET') {
    for (const [name, value] of params) url.searchParams.append(name, value)
    return { url, method: 'GET', headers, body: undefined }
  }
  headers['content-type'] ??= form
  const isJson = headers['content-type'].toLowerCase().startsWith('application/json')
  const body = isJson ? JSON.stringify(Object.fromEntries(params)) : new URLSearchParams(params).toString()
  return { url, method: 'POST', headers, body }
}
