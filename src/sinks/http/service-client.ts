// Databases and other services with an HTTP interface: their address, authentication, and the meaning of their responses for a batch.

import type { WriteOutcome } from '../sink.ts'
import { type parseHostAndPort, type TlsSettings, toServiceTls } from '../service-address.ts'
import { type HttpResult, maxResponseShown } from './http-exchange.ts'
import { joinPath } from './join-url.ts'
import { HttpRequests } from './http-requests.ts'

export interface ServiceSettings {
  /** Base URL of all paths, without `/` at its end. */
  readonly base: URL
  readonly headers: Readonly<Record<string, string>>
  readonly ssl: TlsSettings
  readonly poolSize: number
  /** Maximum number of requests in progress on a connection; 1 if absent. */
  readonly pipelining?: number
  readonly connectTimeoutMs: number
  readonly requestTimeoutMs: number
}

export interface ServiceRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'HEAD'
  /** Path after the base URL. It begins with `/` and includes the query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly maxResponseLength?: number
}

/** Statuses that concern the service or its settings and not the data, so that a retry may succeed. */
const passingStatuses = new Set([401, 403, 404, 405, 408, 425, 429])

export class ServiceClient {
  readonly #settings: ServiceSettings
  readonly #requests: HttpRequests
  constructor(settings: ServiceSettings) {
    this.#settings = settings
    const { base, ssl, poolSize, pipelining = 1, connectTimeoutMs, requestTimeoutMs } = settings
    const tls = base.protocol === 'https:' ? toServiceTls({ ...ssl, enable: true }) : undefined
    this.#requests = new HttpRequests({ origin: base, poolSize, pipelining, connectTimeoutMs, requestTimeoutMs, tls })
  }

  /** Never rejects. */
  send({ method = 'POST', path, headers, body, maxResponseLength }: ServiceRequest): Promise<HttpResult> {
    const { base, headers: own } = this.#settings
    const joined = joinPath(base, path)
    if (joined === undefined) return Promise.resolve({ failure: `the path ${JSON.stringify(path)} is not valid` })
    return this.#requests.send({
      path: joined,
      method,
      headers: { ...own, ...headers },
      body,
      maxResponseLength: maxResponseLength ?? maxResponseShown,
    })
  }

  close(): void {
    this.#requests.close()
  }
}

/** `http://host:port` of `server`, or of a URL. */
export function toBaseUrl(
  { host, port }: ReturnType<typeof parseHostAndPort>,
  { isSecure }: { readonly isSecure: boolean },
): URL {
  const name = host.includes(':') ? `[${host}]` : host
  return new URL(`${isSecure ? 'https' : 'http'}://${name}:${port}`)
}

export function toBasicAuthorization(
  username: string | undefined,
  password: string | undefined,
): Record<string, string> {
  if (username === undefined) return {}
  return { authorization: `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}` }
}

/** The outcome of all entries of a request. */
export function toOutcome(result: HttpResult): WriteOutcome {
  if ('failure' in result) return { outcome: 'retry', why: result.failure }
  const { status } = result
  if (status >= 200 && status < 300) return { outcome: 'done' }
  const isPassing = status < 400 || status >= 500 || passingStatuses.has(status)
  return { outcome: isPassing ? 'retry' : 'refused', why: formatResponse(result) }
}

/** Returns why a service is not available or not usable; undefined: it is usable. */
export function findResponseProblem(result: HttpResult): string | undefined {
  if ('failure' in result) return result.failure
  return result.status >= 200 && result.status < 300 ? undefined : formatResponse(result)
}

export function formatResponse({ status, text }: { readonly status: number; readonly text: string }): string {
  const shown = text.trim().slice(0, maxResponseShown)
  return `HTTP status ${status}${shown === '' ? '' : `: ${shown}`}`
}
