// Requests to one HTTP service over connections that stay open.

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { ServiceTls } from '../service-address.ts'
import { safeLookup, isForbiddenAddress } from '../../transports/index.ts'

export interface HttpRequestsSettings {
  readonly poolSize: number
  readonly connectTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly tls: ServiceTls | undefined
}

export interface HttpRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
  /** Characters of the answer that are read; by default as many as messages show. */
  readonly maxAnswerLength?: number
}

/** The beginning of what the service said, for messages. */
export const maxAnswerShown = 256

export type HttpResult =
  | { readonly status: number; readonly text: string; readonly retryAfterMs: number | undefined }
  | { readonly failure: string }

export class HttpRequests {
  readonly #settings: HttpRequestsSettings
  readonly #http: HttpAgent
  readonly #https: HttpsAgent
  readonly #closed = new AbortController()

  constructor(settings: HttpRequestsSettings) {
    this.#settings = settings
    const { poolSize, tls } = settings
    const options = { keepAlive: true, maxSockets: poolSize, maxFreeSockets: poolSize, scheduling: 'lifo' } as const
    this.#http = new HttpAgent(options)
    this.#https = new HttpsAgent({ ...options, ...tls })
  }

  /** Never rejects. Redirects are answers like others: the configured address is the one that is trusted. */
  send(request: HttpRequest): Promise<HttpResult> {
    const { url, method, headers, body, maxAnswerLength = maxAnswerShown } = request
    if (isForbiddenAddress(url.hostname))
      return Promise.resolve({ failure: `the address of ${url.host} is denied by node.denied_addresses` })
    const isSecure = url.protocol === 'https:'
    const length = body === undefined ? {} : { 'content-length': String(body.length) }
    const options = {
      method,
      headers: { ...headers, ...length },
      lookup: safeLookup,
      agent: isSecure ? this.#https : this.#http,
      signal: this.#closed.signal,
    }
    return new Promise((resolve) => {
      const sent = isSecure ? httpsRequest(url, options) : httpRequest(url, options)
      const timer = setTimeout(
        () => sent.destroy(new Error(`no answer within ${this.#settings.requestTimeoutMs} ms`)),
        this.#settings.requestTimeoutMs,
      )
      const settle = (result: HttpResult): void => {
        clearTimeout(timer)
        resolve(result)
      }
      sent.once('socket', (socket) => {
        if (!socket.connecting) return
        const connecting = setTimeout(
          () => sent.destroy(new Error(`no connection within ${this.#settings.connectTimeoutMs} ms`)),
          this.#settings.connectTimeoutMs,
        )
        const stop = (): void => clearTimeout(connecting)
        socket.once(isSecure ? 'secureConnect' : 'connect', stop)
        socket.once('close', stop)
      })
      sent.on('response', (response) => readAnswer(response, maxAnswerLength, settle))
      sent.on('error', (error: NodeJS.ErrnoException) => settle({ failure: failureOf(error) }))
      sent.end(body)
    })
  }

  close(): void {
    this.#closed.abort()
    this.#http.destroy()
    this.#https.destroy()
  }
}

function failureOf(error: NodeJS.ErrnoException): string {
  if (error.code === undefined || error.message.includes(error.code)) return error.message
  return `${error.code}: ${error.message}`
}

function readAnswer(response: IncomingMessage, maxLength: number, settle: (result: HttpResult) => void): void {
  let text = ''
  response.setEncoding('utf8')
  response.on('data', (part: string) => {
    if (text.length < maxLength) text += part.slice(0, maxLength - text.length)
  })
  response.on('error', (error) => settle({ failure: `the answer broke off: ${error.message}` }))
  response.on('end', () => {
    const seconds = Number(response.headers['retry-after'])
    const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined
    settle({ status: response.statusCode ?? 0, text, retryAfterMs })
  })
}
