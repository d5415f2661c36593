// An HTTP client with limits for requests in progress and waiting ones, and a timeout for each.
//
//   send -> waiting (maxWaiting) -> in progress (poolSize) -> complete
//               '------ timeoutMs over both ------'
//
// Redirects are not followed: only the configured address is trusted.

import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { HttpAuthLimits } from '../../config/index.ts'
import { describeConnectionError, findInnermostError } from '../../telemetry/index.ts'
import { lookUpAllowedAddresses, isForbiddenAddress } from '../../transports/index.ts'

/** Timeouts, and limits of requests in progress and of waiting ones. */
export type HttpClientSettings = Omit<HttpAuthLimits, 'cacheTtlMs'>

export interface HttpRequest {
  readonly url: URL
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export interface HttpResponse {
  readonly status: number
  /** Lower case, without parameters; '' if absent. */
  readonly contentType: string
  readonly body: string
}

/** The end of a sentence about the service: "... did not respond in time". */
export type HttpFailure = { readonly failure: string }

/** A larger response is not a decision. */
const maxResponseBytes = 65_536

interface PendingRequest {
  readonly parameters: HttpRequest
  readonly settle: (result: HttpResponse | HttpFailure) => void
  readonly isWanted: () => boolean
  readonly timer: NodeJS.Timeout
  request: ClientRequest | undefined
  isSettled: boolean
}

export class HttpClient {
  readonly #settings: HttpClientSettings
  readonly #httpAgent: HttpAgent
  readonly #httpsAgent: HttpsAgent
  readonly #active = new Set<PendingRequest>()
  /** In order: a set, so that a request is removed at once at its timeout. */
  readonly #waiting = new Set<PendingRequest>()

  constructor(settings: HttpClientSettings) {
    this.#settings = settings
    const options = { keepAlive: true, maxSockets: settings.poolSize, maxFreeSockets: settings.poolSize }
    this.#httpAgent = new HttpAgent(options)
    this.#httpsAgent = new HttpsAgent(options)
  }

  /** Never rejects. `isWanted` is called before a waiting request is sent, because its client may have disconnected. */
  send(parameters: HttpRequest, isWanted: () => boolean): Promise<HttpResponse | HttpFailure> {
    if (isForbiddenAddress(parameters.url.hostname)) return Promise.resolve({ failure: 'has a denied address' })
    if (this.#active.size >= this.#settings.poolSize && this.#waiting.size >= this.#settings.maxWaiting) {
      return Promise.resolve({ failure: 'has too many waiting requests' })
    }
    return new Promise((resolve) => {
      const job: PendingRequest = {
        parameters,
        isWanted,
        request: undefined,
        isSettled: false,
        timer: setTimeout(() => this.#settle(job, { failure: 'did not respond in time' }), this.#settings.timeoutMs),
        settle: resolve,
      }
      if (this.#active.size < this.#settings.poolSize) this.#start(job, true)
      else this.#waiting.add(job)
    })
  }

  /** Requests in progress fail; connections are closed. */
  close(): void {
    for (const job of [...this.#waiting, ...this.#active]) this.#finish(job, { failure: 'is no longer used' })
    this.#httpAgent.destroy()
    this.#httpsAgent.destroy()
  }

  #start(job: PendingRequest, mayBeRepeated: boolean): void {
    this.#active.add(job)
    const { url, method, headers, body } = job.parameters
    const isSecure = url.protocol === 'https:'
    const options = { method, headers: { ...headers, ...createLengthHeader(body) }, lookup: lookUpAllowedAddresses }
    const request = isSecure
      ? httpsRequest(url, { ...options, agent: this.#httpsAgent })
      : httpRequest(url, { ...options, agent: this.#httpAgent })
    job.request = request
    this.#watchConnecting(job, request, isSecure)
    request.on('response', (response) => this.#read(job, response))
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (job.isSettled) return
      // The service may have just closed a kept connection, which is not a failure. It has probably closed the others as well.
      if (mayBeRepeated && request.reusedSocket && isClosedByPeer(error)) {
        closeFreeConnections(isSecure ? this.#httpsAgent : this.#httpAgent)
        return this.#start(job, false)
      }
      this.#settle(job, { failure: `can not be reached: ${describeError(error)}` })
    })
    request.end(body)
  }

  #watchConnecting(job: PendingRequest, request: ClientRequest, isSecure: boolean): void {
    request.once('socket', (socket) => {
      if (!socket.connecting) return
      const timer = setTimeout(
        () => this.#settle(job, { failure: 'can not be reached in time' }),
        this.#settings.connectTimeoutMs,
      )
      const stop = (): void => clearTimeout(timer)
      socket.once(isSecure ? 'secureConnect' : 'connect', stop)
      socket.once('close', stop)
    })
  }

  #read(job: PendingRequest, response: IncomingMessage): void {
    const chunks: Buffer[] = []
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxResponseBytes)
        this.#settle(job, { failure: `sent a response of more than ${maxResponseBytes} bytes` })
      else chunks.push(chunk)
    })
    response.on('error', () => this.#settle(job, { failure: 'interrupted its response' }))
    response.on('end', () => {
      const contentType = (response.headers['content-type'] ?? '').split(';', 1)[0].trim().toLowerCase()
      const body = Buffer.concat(chunks).toString('utf8')
      this.#settle(job, { status: response.statusCode ?? 0, contentType, body })
    })
  }

  #settle(job: PendingRequest, result: HttpResponse | HttpFailure): void {
    if (job.isSettled) return
    this.#finish(job, result)
    this.#startNext()
  }

  #finish(job: PendingRequest, result: HttpResponse | HttpFailure): void {
    job.isSettled = true
    clearTimeout(job.timer)
    this.#waiting.delete(job)
    this.#active.delete(job)
    // After its response, a connection returns to the pool by itself.
    if ('failure' in result) job.request?.destroy()
    job.settle(result)
  }

  #startNext(): void {
    for (const job of this.#waiting) {
      if (this.#active.size >= this.#settings.poolSize) return
      this.#waiting.delete(job)
      if (job.isWanted()) this.#start(job, true)
      else this.#finish(job, { failure: 'was not queried: the client has disconnected' })
    }
  }
}

function isClosedByPeer({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE'
}

/** The next request opens a connection. */
function closeFreeConnections({ freeSockets }: HttpAgent): void {
  for (const sockets of Object.values(freeSockets)) for (const socket of sockets ?? []) socket.destroy()
}

function createLengthHeader(body: string | undefined): Record<string, string> {
  return body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
}

/** The code of an unknown error is shorter than its message, which may contain addresses. */
function describeError(error: NodeJS.ErrnoException): string {
  const { code, message } = findInnermostError(error)
  const sentence = describeConnectionError(error, 'the environment variable NODE_EXTRA_CA_CERTS')
  return sentence === message ? (code ?? message) : sentence
}
