// The typed client of the API over `fetch`, for a page in a browser. It imports no `node:` module and no schema: a
// small table of endpoints is created when the page is built (see `operation-table.ts`).

import type { CallOf } from './client.ts'
import type { Access, Endpoint, Method, ReplyOf } from './definition/endpoint.ts'
import {
  type AnyCall,
  type Failure,
  formatCallPath,
  parseResponse,
  type Result,
  createUnreachableFailure,
} from './exchange.ts'

export type { Failure, Result } from './exchange.ts'

/** Properties of an endpoint that a call needs. */
export interface Operation {
  readonly method: Method
  /** Absolute, with `:name` for a parameter. */
  readonly url: string
  readonly access: Access
  readonly body?: 'text' | 'upload'
  readonly reply?: 'text' | 'bytes'
  readonly isForNamespaces?: true
}

/** By the names of the endpoints. */
export type OperationTable = Readonly<Record<string, Operation>>

/** A file to upload and its name. */
export interface BrowserFile {
  readonly filename: string
  readonly content: Blob
}

type BrowserCall<E extends Endpoint> = E['body'] extends 'upload'
  ? Omit<CallOf<E>, 'body'> & { readonly body: BrowserFile }
  : CallOf<E>

type BrowserReply<E extends Endpoint> = E['reply'] extends 'bytes' ? Response : ReplyOf<E>

/** Options of one call. */
export interface CallOptions {
  /** Not an action of the user: it does not extend the login. */
  readonly isIdle?: boolean
  /** Selected namespace; undefined: that of `FetchClientOptions`. null: none. */
  readonly namespace?: string | null
  readonly signal?: AbortSignal
}

type Arguments<E extends Endpoint> =
  Partial<BrowserCall<E>> extends BrowserCall<E>
    ? [call?: BrowserCall<E>, options?: CallOptions]
    : [call: BrowserCall<E>, options?: CallOptions]

export type FetchClient<Set extends Record<string, Endpoint>> = {
  readonly [Name in keyof Set]: (...args: Arguments<Set[Name]>) => Promise<Result<BrowserReply<Set[Name]>>>
}

export interface FetchClientOptions {
  readonly operations: OperationTable
  /** Base of the API, relative to the page: `..` if the page is `/dashboard/`. */
  readonly base: string
  /** Value of the Authorization header; undefined: none. */
  readAuthorization(): string | undefined
  /** Selected namespace; undefined: the whole broker. */
  readNamespace(): string | undefined
  /** Called with each failure. */
  onFailure(failure: Failure): void
  /** Called with each response of the API. */
  onResponse(): void
}

export function createFetchClient<Set extends Record<string, Endpoint>>(options: FetchClientOptions): FetchClient<Set> {
  const calls = Object.entries(options.operations).map(([name, operation]) => {
    const call = async (request: AnyCall = {}, callOptions: CallOptions = {}): Promise<Result<unknown>> => {
      const result = await callOperation(options, { operation, call: request, callOptions })
      if ('reply' in result) options.onResponse()
      else if (callOptions.signal?.aborted !== true) options.onFailure(result.failure)
      return result
    }
    return [name, call] as const
  })
  return Object.fromEntries(calls) as unknown as FetchClient<Set>
}

interface OneCall {
  readonly operation: Operation
  readonly call: AnyCall
  readonly callOptions: CallOptions
}

async function callOperation(
  options: FetchClientOptions,
  { operation, call, callOptions }: OneCall,
): Promise<Result<unknown>> {
  const namespace = callOptions.namespace === undefined ? options.readNamespace() : (callOptions.namespace ?? undefined)
  const meant = operation.isForNamespaces === true ? { namespace } : {}
  const path = formatCallPath(operation.url, { ...call, query: { ...meant, ...call.query } })
  if (typeof path !== 'string') return { failure: path }
  const headers: Record<string, string> = {}
  const authorization = options.readAuthorization()
  if (authorization !== undefined) headers['authorization'] = authorization
  if (callOptions.isIdle === true) headers['x-godwit-idle'] = '1'
  const body = encodeBody(operation, call.body)
  if (typeof body === 'string') headers['content-type'] = operation.body === 'text' ? 'text/plain' : 'application/json'
  try {
    const response = await fetch(`${options.base}${path}`, {
      method: operation.method,
      headers,
      credentials: 'omit',
      ...(body === undefined ? {} : { body }),
      ...(callOptions.signal === undefined ? {} : { signal: callOptions.signal }),
    })
    if (operation.reply === 'bytes' && response.ok) return { reply: response }
    return parseResponse({ status: response.status, text: await response.text() }, operation.reply === 'text')
  } catch (error) {
    return { failure: createUnreachableFailure(error instanceof Error ? error.message : String(error)) }
  }
}

function encodeBody(operation: Operation, value: unknown): string | FormData | undefined {
  if (value === undefined) return undefined
  if (operation.body === 'text') return value as string
  if (operation.body !== 'upload') return JSON.stringify(value)
  const { filename, content } = value as BrowserFile
  const form = new FormData()
  form.append('filename', content, filename)
  return form
}
