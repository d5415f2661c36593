// A typed client of the API: a function for each endpoint, over HTTP or over the socket in a data directory. Failures
// are returned values.

import { Buffer } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import { describeConnectionError } from '../telemetry/index.ts'
import { listUrls } from './documents/list-urls.ts'
import { type Endpoint, type ReplyOf, namespaceKey } from './definition/endpoint.ts'
import {
  type AnyCall,
  type Failure,
  formatCallPath,
  parseResponse,
  type Result,
  createUnreachableFailure,
} from './exchange.ts'
import type { Static, TSchema } from './definition/schema.ts'

export interface ClientOptions {
  /** `http://` or `https://` with host and port only; or the path of a Unix socket. */
  readonly at: { readonly url: string } | { readonly socketPath: string }
  /** Value of the header, see `formatBasicAuthorization`. It is read for each call. */
  readonly authorization?: string
  /** Namespace for endpoints with namespaces; undefined: the whole broker. */
  readonly namespace?: string | undefined
  /** Timeout of a response. */
  readonly timeoutMs?: number
}

type Part<Name extends string, Schema> = Schema extends TSchema ? { readonly [key in Name]: Static<Schema> } : unknown

/** A query may be omitted if none of its keys is required. */
type QueryPart<Query> = Query extends TSchema
  ? Partial<Static<Query>> extends Static<Query>
    ? { readonly query?: Static<Query> }
    : { readonly query: Static<Query> }
  : unknown

/** A file to upload, and its name. */
export interface FileToSend {
  readonly filename: string
  readonly content: AsyncIterable<Uint8Array>
}

type BodyPart<E extends Endpoint> = E['body'] extends 'text'
  ? { readonly body: string }
  : E['body'] extends 'upload'
    ? { readonly body: FileToSend }
    : E['bodyMayBeAbsent'] extends true
      ? Partial<Part<'body', E['body']>>
      : Part<'body', E['body']>

/** Parameters of a call of an endpoint. */
export type CallOf<E extends Endpoint> = Part<'params', E['params']> & QueryPart<E['query']> & BodyPart<E>

type Argument<E extends Endpoint> =
  unknown extends CallOf<E>
    ? [call?: Readonly<Record<string, never>>]
    : Partial<CallOf<E>> extends CallOf<E>
      ? [call?: CallOf<E>]
      : [call: CallOf<E>]

/** A function for each endpoint of a table. */
export type EndpointClient<Set extends Record<string, Endpoint>> = {
  readonly [Name in keyof Set]: (...argument: Argument<Set[Name]>) => Promise<Result<ReplyOf<Set[Name]>>>
}

const defaultTimeoutMs = 30_000
/** For long operations. */
const longTimeoutMs = 3_600_000

/** Returns a client of these endpoints. Each call opens its own connection. */
export function createClient<const Set extends Record<string, Endpoint>>(
  endpoints: Set,
  options: ClientOptions,
): EndpointClient<Set> {
  const calls = Object.entries<Endpoint>(endpoints).map(([name, endpoint]) => {
    const call = (request: AnyCall = {}): Promise<Result<unknown>> => callEndpoint(options, endpoint, request)
    return [name, call] as const
  })
  return Object.fromEntries(calls) as unknown as EndpointClient<Set>
}

/** Returns the Authorization header for a name and a password. */
export function formatBasicAuthorization(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
}

async function callEndpoint(options: ClientOptions, endpoint: Endpoint, call: AnyCall): Promise<Result<unknown>> {
  const meant = endpoint.isForNamespaces === true ? { [namespaceKey]: options.namespace } : {}
  const [url = ''] = listUrls(endpoint)
  const path = formatCallPath(url, { ...call, query: { ...meant, ...call.query } })
  if (typeof path !== 'string') return { failure: path }
  const { method, isLong = false } = endpoint
  const timeoutMs = options.timeoutMs ?? (isLong ? longTimeoutMs : defaultTimeoutMs)
  const response = await sendRequest({ ...options, timeoutMs }, { method, path, body: encodeBody(endpoint, call.body) })
  if ('failure' in response) return response
  const { statusCode: status = 0 } = response
  if (endpoint.reply === 'bytes' && status === successStatus) return { reply: response }
  try {
    return parseResponse({ status, text: await gather(response) }, endpoint.reply === 'text')
  } catch (error) {
    return { failure: createUnreachableFailure(`the response was interrupted: ${(error as Error).message}`) }
  }
}

const successStatus = 200

function encodeBody({ body: kind }: Endpoint, content: unknown): Body {
  if (kind === 'upload') return encodeForm(content as FileToSend)
  if (kind === 'text' && typeof content === 'string')
    return { type: 'text/plain; charset=utf-8', bytes: Buffer.from(content) }
  const text = JSON.stringify(content)
  return text === undefined ? undefined : { type: 'application/json', bytes: Buffer.from(text) }
}

/** [RFC7578-4.2] */
function encodeForm({ filename, content }: FileToSend): Body {
  const boundary = `godwit-${randomUUID()}`
  const name = filename.replaceAll(/["\r\n]/g, (letter) => encodeURIComponent(letter))
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="filename"; filename="${name}"\r\ncontent-type: application/octet-stream\r\n\r\n`
  async function* streamForm(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(head)
    yield* content
    yield Buffer.from(`\r\n--${boundary}--\r\n`)
  }
  return { type: `multipart/form-data; boundary=${boundary}`, pieces: streamForm() }
}

/** undefined: none. */
type Body =
  | { readonly type: string; readonly bytes: Uint8Array }
  | { readonly type: string; readonly pieces: AsyncIterable<Uint8Array> }
  | undefined

interface Sent {
  readonly method: string
  readonly path: string
  readonly body: Body
}

/** Resolves when the response starts. */
function sendRequest(
  options: ClientOptions & { readonly timeoutMs: number },
  { method, path, body }: Sent,
): Promise<IncomingMessage | { failure: Failure }> {
  const { at, authorization, timeoutMs } = options
  const headers: Record<string, string> = {}
  if (authorization !== undefined) headers['authorization'] = authorization
  if (body !== undefined) headers['content-type'] = body.type
  if (body !== undefined && 'bytes' in body) headers['content-length'] = String(body.bytes.byteLength)
  const common: RequestOptions = { method, path, headers, agent: false, timeout: timeoutMs }
  const { promise, resolve } = Promise.withResolvers<IncomingMessage | { failure: Failure }>()
  const formatError = (error: Error): string =>
    'socketPath' in at ? error.message : describeConnectionError(error, 'the environment variable NODE_EXTRA_CA_CERTS')
  const fail = (error: Error): void => resolve({ failure: createUnreachableFailure(formatError(error)) })
  try {
    const request = open(at, common, resolve)
    request.on('error', fail)
    request.on('timeout', () => request.destroy(new Error(`no response within ${timeoutMs / 1_000} s`)))
    if (body === undefined || 'bytes' in body) request.end(body?.bytes)
    // A response that arrives before the request is complete is valid; without one, `request` reports the error.
    else
      Readable.from(body.pieces)
        .on('error', (error) => request.destroy(error))
        .pipe(request)
  } catch (error) {
    fail(error as Error)
  }
  return promise
}

function open(
  at: ClientOptions['at'],
  common: RequestOptions,
  onResponse: (response: IncomingMessage) => void,
): ReturnType<typeof httpRequest> {
  if ('socketPath' in at) return httpRequest({ ...common, socketPath: at.socketPath, host: 'localhost' }, onResponse)
  const { protocol, hostname, port } = new URL(at.url)
  const target = { ...common, protocol, hostname: hostname.replace(/^\[(.*)\]$/, '$1'), port }
  return protocol === 'https:' ? httpsRequest(target, onResponse) : httpRequest(target, onResponse)
}

async function gather(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
