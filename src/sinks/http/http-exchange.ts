// One request and its response, which the HTTP library delivers in parts.

import { StringDecoder } from 'node:string_decoder'
import { formatError } from '../service-responses.ts'
import type { ResponseHandler, ResponseHeaders, RequestController } from './http-library.ts'

export interface HttpRequest {
  /** Path and query. */
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
  /** Maximum characters of the response that are read. Default: as many as error messages show. */
  readonly maxResponseLength?: number
}

/** The beginning of the response body, for error messages. */
export const maxResponseShown = 256

export type HttpResult =
  | { readonly status: number; readonly text: string; readonly retryAfterMs: number | undefined }
  | { readonly failure: string }

export interface HttpExchangeCallbacks {
  /** Called once. */
  settle(exchange: HttpExchange, result: HttpResult): void
  /** The exchange no longer uses its connection. Called once, and never without a connection. */
  release(exchange: HttpExchange): void
}

export class HttpExchange implements ResponseHandler {
  readonly request: HttpRequest
  readonly deadlineMs: number
  readonly #callbacks: HttpExchangeCallbacks
  #controller: RequestController | undefined
  #isSettled = false
  #status = 0
  #retryAfterMs: number | undefined
  #text = ''
  #decoder: StringDecoder | undefined

  constructor(request: HttpRequest, deadlineMs: number, callbacks: HttpExchangeCallbacks) {
    this.request = request
    this.deadlineMs = deadlineMs
    this.#callbacks = callbacks
  }

  /** Ends the exchange and its connection, because later data of the service would belong to no request. */
  fail(why: string): void {
    this.#settle({ failure: why })
    this.#controller?.abort(new Error(why))
  }

  onRequestStart(controller: RequestController): void {
    // The exchange failed while the connection was being opened.
    if (this.#isSettled) controller.abort(new Error('the request has failed already'))
    else this.#controller = controller
  }

  onResponseStart(_: unknown, status: number, headers: ResponseHeaders): void {
    this.#status = status
    const seconds = Number(headers['retry-after'])
    this.#retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    const { maxResponseLength = maxResponseShown } = this.request
    const missing = maxResponseLength - this.#text.length
    if (missing <= 0) return
    this.#decoder ??= new StringDecoder('utf8')
    this.#text += this.#decoder.write(chunk).slice(0, missing)
  }

  onResponseEnd(): void {
    this.#settle({ status: this.#status, text: this.#text, retryAfterMs: this.#retryAfterMs })
    this.#callbacks.release(this)
  }

  onResponseError(_: unknown, error: NodeJS.ErrnoException): void {
    const why = formatFailure(error)
    this.#settle({ failure: this.#status === 0 ? why : `the response was interrupted: ${why}` })
    this.#callbacks.release(this)
  }

  #settle(result: HttpResult): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#callbacks.settle(this, result)
  }
}

function formatFailure(error: NodeJS.ErrnoException): string {
  const { code, message } = error
  const sentence = formatError(error)
  if (sentence !== message) return sentence
  if (code === undefined || message.includes(code)) return message
  return message === '' ? code : `${code}: ${message}`
}
