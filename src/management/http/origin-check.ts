// Refuses requests of other sites, to which browsers add credentials. Such a request contains its origin.

import type { IncomingHttpHeaders } from 'node:http'
import { type ApiError, refuse } from './api-error.ts'

export interface ArrivedRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
}

/** Returns why a request of another site is refused; undefined: it has the same origin, or only reads. */
export function refuseForeignOrigin(
  { method, headers }: ArrivedRequest,
  allowedOrigins: readonly string[] = [],
): ApiError | undefined {
  const { origin, host } = headers
  if (method === 'GET' || method === 'HEAD') return undefined
  if (origin === undefined && headers['sec-fetch-site'] !== 'cross-site') return undefined
  if (origin !== undefined && parseHost(origin) === host?.toLowerCase()) return undefined
  // Behind a proxy that changes Host: `dashboard.allow_origins`.
  if (origin !== undefined && allowedOrigins.includes(origin)) return undefined
  const from = origin === undefined ? 'another site' : JSON.stringify(origin)
  return refuse('invalidParameter', `the request was made by a page of ${from}, and only pages of this host may`, 403)
}

/**
 * Without authentication, a page of another site whose name resolves to this machine (DNS rebinding) must be refused as
 * well; its Host header has that name.
 */
export function refuseUnknownHost({ headers }: ArrivedRequest): ApiError | undefined {
  if (isLoopbackName(headers.host)) {
    const isForeign = headers.origin !== undefined && parseHost(headers.origin) !== headers.host?.toLowerCase()
    if (!isForeign && headers['sec-fetch-site'] !== 'cross-site') return undefined
  }
  return refuse(
    'invalidParameter',
    'without login the API is for programs of this machine: use the host name localhost',
    403,
  )
}

const forwardingHeaders = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

export interface UpgradeOrigins {
  readonly allowedOrigins: readonly string[]
  /** Only this machine reaches the API. */
  readonly isLoopback: boolean
}

/**
 * Returns why a page must not open a WebSocket; undefined if it may. Browsers send the origin of the page, and connect without
 * asking the user. If only this machine can reach the API, anonymous clients may be accepted. So the configuration must name the origins of
 * pages whose host name resolves to this machine, and of pages behind a reverse proxy.
 */
export function findUpgradeProblem(
  headers: IncomingHttpHeaders,
  { allowedOrigins, isLoopback }: UpgradeOrigins,
): string | undefined {
  const { origin, host } = headers
  if (origin === undefined)
    return 'the dashboard has MQTT for its own page; programs connect to a listener (listeners.ws)'
  if (allowedOrigins.includes(origin)) return undefined
  const remedy = 'name the origin in dashboard.allow_origins'
  if (parseHost(origin) !== host?.toLowerCase()) return `pages of other origins may not connect; ${remedy}`
  if (!isLoopback) return undefined
  const isProxied = forwardingHeaders.some((name) => headers[name] !== undefined)
  return isProxied || !isLoopbackName(host) ? `the API is for this machine only; ${remedy}` : undefined
}

/** `host`: with or without a port. */
function isLoopbackName(host = ''): boolean {
  return /^(localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(host.toLowerCase().replace(/:\d+$/, ''))
}

function parseHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}
