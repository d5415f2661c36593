// Checks the form of a request before its query is used and before authentication. A proxy in front of the broker and
// the broker must read the same request, so a header that determines the host or the caller may occur once
// [RFC9112-3.2].

import type { IncomingMessage } from 'node:http'
import { maxHeaders } from './http-limits.ts'
import { hasTooManyParameters, maxQueryParameters } from './query-string.ts'
import { type ApiError, refuse } from './api-error.ts'

/** Headers that may occur once. The HTTP parser refuses a second content-length itself. */
const singleHeaders: readonly string[] = ['host', 'authorization', 'content-length', 'content-type', 'origin']

/** A host name or address with a port. An empty value is allowed [RFC9110-7.2]. */
const hostForm = /^[^\s,/?#@\\]*$/

export type RequestHead = Pick<IncomingMessage, 'rawHeaders' | 'httpVersion' | 'url'>

/** Returns why the request is refused, or undefined. The work is linear in the number of headers. */
export function checkRequestForm({ rawHeaders, httpVersion, url = '' }: RequestHead): ApiError | undefined {
  const count = rawHeaders.length / 2
  if (count > maxHeaders) {
    return refuse('invalidParameter', `too many headers: ${count}; maximum ${maxHeaders}`)
  }
  const seen = new Set<string>()
  let host: string | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? ''
    if (!singleHeaders.includes(name)) continue
    if (seen.has(name)) return refuse('invalidParameter', `the header ${name} occurs more than once; send it once`)
    seen.add(name)
    if (name === 'host') host = rawHeaders[at + 1]
  }
  if (host === undefined && httpVersion === '1.1') {
    return refuse('invalidParameter', 'missing Host header; HTTP/1.1 requires it')
  }
  if (host !== undefined && !hostForm.test(host)) {
    return refuse('invalidParameter', 'the Host header is not one host name or address; send one')
  }
  if (hasTooManyParameters(url)) {
    return refuse('invalidParameter', `too many parameters in the query; maximum ${maxQueryParameters}`)
  }
  return undefined
}
