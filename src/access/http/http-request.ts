// A configured request with the values of one client.

import type { HttpRequestConfig } from '../../config/index.ts'
import { fillPlaceholders, type Placeholders } from '../authenticators/placeholders.ts'
import type { HttpRequest } from './http-client.ts'

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
export function fillRequest(request: HttpRequestConfig, values: Placeholders): HttpRequest {
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
