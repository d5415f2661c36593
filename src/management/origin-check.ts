// Browsers add credentials to requests that other sites make in their name. Such a request says where it comes from.

import type { IncomingHttpHeaders } from 'node:http'
import { type ApiError, refuse } from './api-error.ts'

export interface ArrivedRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
}

/** Why a request that some other site has made is not carried out; undefined: it is none, or it only looks. */
export function refuseForeignOrigin(
  { method, headers }: ArrivedRequest,
  allowedOrigins: readonly string[] = [],
): ApiError | undefined {
  const { origin, host } = headers
  if (method === 'GET' || method === 'HEAD') return undefined
  if (origin === undefined && headers['sec-fetch-site'] !== 'cross-site') return undefined
  if (origin !== undefined && hostOf(origin) === host?.toLowerCase()) return undefined
  // A proxy that changes Host: `dashboard.allow_origins`.
  if (origin !== undefined && allowedOrigins.includes(origin)) return undefined
  const from = origin === undefined ? 'another site' : JSON.stringify(origin)
  return refuse('invalidParameter', `the request was made by a page of ${from}, and only pages of this host may`, 403)
}

/**
 * Where nobody has to say who they are, a page of another site that has been given the name of this machine is refused
 * too: it can only ask for that name.
 */
export function refuseUnknownHost({ headers }: ArrivedRequest): ApiError | undefined {
  const name = (headers.host ?? '').toLowerCase().replace(/:\d+$/, '')
  if (/^(localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(name)) {
    const isForeign = headers.origin !== undefined && hostOf(headers.origin) !== headers.host?.toLowerCase()
    if (!isForeign && headers['sec-fetch-site'] !== 'cross-site') return undefined
  }
  return refuse('invalidParameter', 'without sign-in the API is for programs of this machine: ask for localhost', 403)
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}
