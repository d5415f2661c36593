// Client of the API server of Kubernetes: requests and watches with raw JSON over HTTPS.

import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import https from 'node:https'
import type { KubeConnection } from './kube-connection.ts'
import { KubeRequestError, type KubeFields, type KubeResource } from './kube-types.ts'
import { formatResourcePath, type ResourceAddress } from './resource-path.ts'

export interface ListPage {
  readonly items: readonly KubeResource[]
  readonly resourceVersion: string
  readonly next: string | undefined
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: KubeFields
}

export interface WatchOptions {
  readonly resourceVersion: string
  readonly labelSelector?: string | undefined
  readonly timeoutSeconds: number
  readonly signal: AbortSignal
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>

interface RequestOptions {
  readonly query?: Query
  readonly body?: unknown
  readonly contentType?: string
}

/** A server that does not respond within this time is down. */
const requestTimeoutMs = 30_000
/** A watch without an event for longer than its own timeout is dead. */
const watchGraceMs = 30_000
/** More than etcd stores in one object, times the objects of a page. */
const maxResponseBytes = 268_435_456
const maxEventCharacters = 8_388_608
const maxSockets = 64
const userAgent = 'godwit-operator'

export class KubeClient {
  readonly #connection: KubeConnection
  readonly #agent: Agent

  constructor(connection: KubeConnection) {
    this.#connection = connection
    const { authorities, clientCertificate, serverName, skipsVerification } = connection
    const shared = { keepAlive: true, maxSockets }
    this.#agent = connection.server.startsWith('https:')
      ? new https.Agent({
          ...shared,
          ca: authorities,
          cert: clientCertificate?.certificate,
          key: clientCertificate?.key,
          servername: serverName,
          rejectUnauthorized: !skipsVerification,
        })
      : new Agent(shared)
  }

  get namespace(): string {
    return this.#connection.namespace
  }

  async get(address: ResourceAddress): Promise<KubeResource> {
    return (await this.request('GET', formatResourcePath(address))) as KubeResource
  }

  /** Returns undefined if the object does not exist. */
  async find(address: ResourceAddress): Promise<KubeResource | undefined> {
    try {
      return await this.get(address)
    } catch (error) {
      if (error instanceof KubeRequestError && error.statusCode === 404) return undefined
      throw error
    }
  }

  async listPage(address: ResourceAddress, query: Query): Promise<ListPage> {
    const list = (await this.request('GET', formatResourcePath(address), { query })) as {
      readonly items?: readonly KubeResource[]
      readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string }
    }
    const { resourceVersion = '', continue: next = '' } = list.metadata ?? {}
    return { items: list.items ?? [], resourceVersion, next: next === '' ? undefined : next }
  }

  async create(address: ResourceAddress, body: KubeFields): Promise<KubeResource> {
    return (await this.request('POST', formatResourcePath(address), { body })) as KubeResource
  }

  /** Replaces the object; a `metadata.resourceVersion` in the body must be the current one. */
  async replace(address: ResourceAddress, body: KubeFields): Promise<KubeResource> {
    return (await this.request('PUT', formatResourcePath(address), { body })) as KubeResource
  }

  async mergePatch(address: ResourceAddress, body: KubeFields): Promise<KubeResource> {
    const options = { body, contentType: 'application/merge-patch+json' }
    return (await this.request('PATCH', formatResourcePath(address), options)) as KubeResource
  }

  /** Server-side apply: the fields of the body belong to `fieldManager` afterwards, also those of other managers. */
  async apply(address: ResourceAddress, body: KubeFields, fieldManager: string): Promise<KubeResource> {
    const query = { fieldManager, force: true }
    const options = { body, query, contentType: 'application/apply-patch+yaml' }
    return (await this.request('PATCH', formatResourcePath(address), options)) as KubeResource
  }

  async delete(address: ResourceAddress, options: KubeFields): Promise<void> {
    await this.request('DELETE', formatResourcePath(address), { body: options })
  }

  /** Resolves with the body of the response; throws `KubeRequestError` if the server refuses. */
  async request(
    method: string,
    path: string,
    { query = {}, body, contentType }: RequestOptions = {},
  ): Promise<unknown> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers: Record<string, string | number> =
      text === undefined
        ? {}
        : { 'content-type': contentType ?? 'application/json', 'content-length': Buffer.byteLength(text) }
    const sent = this.#send(method, path + formatQuery(query), headers)
    sent.setTimeout(requestTimeoutMs, () => sent.destroy(new Error(`no response within ${requestTimeoutMs / 1_000} s`)))
    sent.end(text)
    const response = await receiveResponse(sent)
    const received = await readText(response)
    return parseResponse(response, received, `${method} ${path}`)
  }

  /** Calls `onEvent` for each change. Resolves when the server ends the watch; rejects if the connection fails. */
  async watch(address: ResourceAddress, options: WatchOptions, onEvent: (event: WatchEvent) => void): Promise<void> {
    const { resourceVersion, labelSelector, timeoutSeconds, signal } = options
    const query = { watch: true, allowWatchBookmarks: true, resourceVersion, labelSelector, timeoutSeconds }
    const path = formatResourcePath(address)
    const sent = this.#send('GET', path + formatQuery(query), {}, signal)
    const idleMs = timeoutSeconds * 1_000 + watchGraceMs
    sent.setTimeout(idleMs, () => sent.destroy(new Error('the watch has ended without a response')))
    sent.end()
    const response = await receiveResponse(sent)
    if (response.statusCode !== 200) parseResponse(response, await readText(response), `watch ${path}`)
    response.setEncoding('utf8')
    let rest = ''
    for await (const chunk of response as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > maxEventCharacters)
        throw new Error(`an event of a watch is longer than ${maxEventCharacters} characters`)
      for (const line of lines) if (line !== '') onEvent(JSON.parse(line) as WatchEvent)
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  #send(
    method: string,
    path: string,
    headers: Readonly<Record<string, string | number>>,
    signal?: AbortSignal,
  ): ClientRequest {
    const { server } = this.#connection
    const token = this.#connection.readToken()
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const url = new URL(server.replace(/\/$/, '') + path)
    const options: https.RequestOptions = {
      method,
      agent: this.#agent,
      headers: { accept: 'application/json', 'user-agent': userAgent, ...authorization, ...headers },
      ...(signal && { signal }),
    }
    return url.protocol === 'https:' ? https.request(url, options) : requestHttp(url, options)
  }
}

function formatQuery(query: Query): string {
  const parameters = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) parameters.set(key, String(value))
  return parameters.size === 0 ? '' : `?${parameters.toString()}`
}

function receiveResponse(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('response', resolve)
    request.on('error', reject)
  })
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxResponseBytes) throw new Error(`the response is larger than ${maxResponseBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parseResponse({ statusCode = 0, headers }: IncomingMessage, text: string, request: string): unknown {
  const body = parseJson(text)
  if (statusCode >= 200 && statusCode < 300 && body !== undefined) return body
  const { message = text.slice(0, 200), reason = '' } = (body ?? {}) as { message?: string; reason?: string }
  const retryAfterSeconds = Number(headers['retry-after'])
  const retryAfterMs = retryAfterSeconds > 0 ? retryAfterSeconds * 1_000 : undefined
  throw new KubeRequestError(`${request}: ${statusCode} ${message}`, { statusCode, reason, retryAfterMs })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // A proxy or a load balancer has responded: the caller reports the text.
    return undefined
  }
}
