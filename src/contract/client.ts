// The contract from the other side: a function for each endpoint, with the types of the endpoint, over HTTP or over the
// socket in a data directory. What goes wrong is a value, as everywhere in the house.

import { Buffer } from 'node:buffer'
import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { urlsOf } from './documents/urls.ts'
import type { Endpoint, failureWithReason, ReplyOf } from './endpoint.ts'
import { endpoints } from './endpoints/all.ts'
import type { Static, TSchema } from './schema.ts'

export interface ClientOptions {
  /** `http://` or `https://` with host and port and nothing behind; or the path of a Unix socket. */
  readonly at: { readonly url: string } | { readonly socketPath: string }
  /** Value of the header, see `basicAuthorization`. Over the socket nobody asks. */
  readonly authorization?: string
  /** How long an answer may take. */
  readonly timeoutMs?: number
}

/** Why there is no reply. */
export interface Failure {
  /** `refused`: the API says no. `unreachable`: nobody answered. `not-understood`: what answered is not this API. */
  readonly kind: 'refused' | 'unreachable' | 'not-understood'
  /** Of the API; 0 where the API did not say anything. */
  readonly code: number
  /** Of HTTP; 0 where nobody answered. */
  readonly status: number
  readonly message: string
  /** What is wrong, in a word, where the fifth version of the API says no. */
  readonly reason?: string
}

export type Result<Reply> = { readonly reply: Reply } | { readonly failure: Failure }

type Part<Name extends string, Schema> = Schema extends TSchema ? { readonly [key in Name]: Static<Schema> } : unknown

/** A query may be left out where nothing in it must be there. */
type QueryPart<Query> = Query extends TSchema
  ? Partial<Static<Query>> extends Static<Query>
    ? { readonly query?: Static<Query> }
    : { readonly query: Static<Query> }
  : unknown

type BodyPart<Body> = Body extends 'text' ? { readonly body: string } : Part<'body', Body>

/** What a call of an endpoint takes. */
export type CallOf<E extends Endpoint> = Part<'params', E['params']> & QueryPart<E['query']> & BodyPart<E['body']>

type Argument<E extends Endpoint> =
  unknown extends CallOf<E>
    ? [call?: Readonly<Record<string, never>>]
    : Partial<CallOf<E>> extends CallOf<E>
      ? [call?: CallOf<E>]
      : [call: CallOf<E>]

export type ApiClient<Set extends Record<string, Endpoint> = typeof endpoints> = {
  readonly [Name in keyof Set]: (...argument: Argument<Set[Name]>) => Promise<Result<ReplyOf<Set[Name]>>>
}

/** Of any endpoint: what is known only when the program runs. */
export interface AnyCall {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

const defaultTimeoutMs = 30_000

/** A client of the API. It keeps no connection: each call makes its own. */
export function createClient(options: ClientOptions): ApiClient {
  const calls = Object.entries<Endpoint>(endpoints).map(([name, endpoint]) => {
    const call = (given: AnyCall = {}): Promise<Result<unknown>> => callEndpoint(options, endpoint, given)
    return [name, call] as const
  })
  return Object.fromEntries(calls) as unknown as ApiClient
}

/** The Authorization header for a name and a password. */
export function basicAuthorization(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
}

async function callEndpoint(options: ClientOptions, endpoint: Endpoint, call: AnyCall): Promise<Result<unknown>> {
  const path = pathOf(endpoint, call)
  if (typeof path !== 'string') return { failure: path }
  const isText = endpoint.body === 'text'
  const body = isText && typeof call.body === 'string' ? call.body : JSON.stringify(call.body)
  const answer = await exchange(options, { method: endpoint.method, path, body, isText })
  return 'failure' in answer ? answer : readAnswer(answer, endpoint)
}

function pathOf(endpoint: Endpoint, { params = {}, query = {} }: AnyCall): string | Failure {
  const [url = ''] = urlsOf(endpoint)
  const missing = [...url.matchAll(/:(\w+)/g)].find(([, name = '']) => (params[name] ?? '') === '')
  // Without its last part the path would be that of another operation.
  if (missing !== undefined)
    return { kind: 'refused', code: 107, status: 0, message: `${missing[1]} must not be empty` }
  const path = url.replaceAll(/:(\w+)/g, (_whole, name: string) => encoded(params[name]))
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
  return pairs.length === 0 ? path : `${path}?${pairs.map((pair) => pair.map(encoded).join('=')).join('&')}`
}

/** Half a letter of UTF-16 has no bytes: it becomes the letter that stands for what cannot be read. */
function encoded(value: unknown): string {
  return encodeURIComponent(String(value).toWellFormed())
}

interface Sent {
  readonly method: string
  readonly path: string
  /** undefined: none. */
  readonly body: string | undefined
  readonly isText: boolean
}

interface Answer {
  readonly status: number
  readonly text: string
}

function exchange(
  options: ClientOptions,
  { method, path, body, isText }: Sent,
): Promise<Answer | { failure: Failure }> {
  const { at, authorization, timeoutMs = defaultTimeoutMs } = options
  const headers: Record<string, string> = {}
  if (authorization !== undefined) headers['authorization'] = authorization
  if (body !== undefined) {
    headers['content-type'] = isText ? 'text/plain; charset=utf-8' : 'application/json'
    headers['content-length'] = String(Buffer.byteLength(body))
  }
  const common: RequestOptions = { method, path, headers, agent: false, timeout: timeoutMs }
  const { promise, resolve } = Promise.withResolvers<Answer | { failure: Failure }>()
  const unreachable = (message: string): void =>
    resolve({ failure: { kind: 'unreachable', code: 0, status: 0, message } })
  const takeAnswer = (response: IncomingMessage): void => {
    void gather(response).then(
      (text) => resolve({ status: response.statusCode ?? 0, text }),
      (error: Error) => unreachable(`the answer broke off: ${error.message}`),
    )
  }
  try {
    const request = open(at, common, takeAnswer)
    request.on('error', (error) => unreachable(error.message))
    request.on('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs / 1_000} s`)))
    request.end(body)
  } catch (error) {
    unreachable((error as Error).message)
  }
  return promise
}

function open(
  at: ClientOptions['at'],
  common: RequestOptions,
  takeAnswer: (response: IncomingMessage) => void,
): ReturnType<typeof httpRequest> {
  if ('socketPath' in at) return httpRequest({ ...common, socketPath: at.socketPath, host: 'localhost' }, takeAnswer)
  const { protocol, hostname, port } = new URL(at.url)
  const target = { ...common, protocol, hostname: hostname.replace(/^\[(.*)\]$/, '$1'), port }
  return protocol === 'https:' ? httpsRequest(target, takeAnswer) : httpRequest(target, takeAnswer)
}

async function gather(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function readAnswer({ status, text }: Answer, { reply }: Endpoint): Result<unknown> {
  const isGood = status >= 200 && status < 300
  if (isGood && reply === 'text') return { reply: text }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (typeof value !== 'object' || value === null) {
    const message = `what answered is not the API of Godwit: status ${status}`
    return { failure: { kind: 'not-understood', code: 0, status, message } }
  }
  const { code = 0, message = '', reason } = value as Partial<Static<typeof failureWithReason>>
  if (isGood && code === 0) return { reply: value }
  return { failure: { kind: 'refused', code, status, message, ...(reason === undefined ? {} : { reason }) } }
}
