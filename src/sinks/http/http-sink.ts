// The sink for HTTP. It sends one request for each entry.

import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import { toServiceTls } from '../service-address.ts'
import {
  toBytes,
  requireAttributeText,
  type NamedValue,
  type Sink,
  type SinkType,
  type ActionEntry,
  type WriteOutcome,
} from '../sink.ts'
import { HttpRequests } from './http-requests.ts'
import { joinPath } from './join-url.ts'
import { findConnectorUrlProblem, findHeadersProblem } from './http-settings-check.ts'

export type HttpConnector = NamedValue<ConnectorsConfig['http']>
export type HttpAction = NamedValue<ActionsConfig['http']>

const pathAttribute = 'path'
const headerAttributePrefix = 'header '

/** Status codes after which another attempt may succeed. */
const retriedStatuses = new Set([408, 425, 429])

const done: WriteOutcome = { outcome: 'done' }

export const httpSinkType: SinkType<HttpAction, HttpConnector> = {
  findConnectorProblem: (connector) =>
    findConnectorUrlProblem(connector) ?? findHeadersProblem(connector.headers, 'headers'),
  findActionProblem: ({ parameters: { headers } }) => findHeadersProblem(headers, 'parameters.headers'),

  createRenderer({ parameters }, compile, allColumns) {
    const path = compile(parameters.path, 'path')
    const headers = [...parameters.headers].map(([name, value]) => ({ name, value: compile(value) }))
    const body =
      parameters.body === undefined ? undefined : compile(parameters.body, selectBodyEncoding(parameters.headers))
    const hasBody = parameters.method === 'post' || parameters.method === 'put'
    return (data) => {
      const text = body === undefined ? (hasBody ? allColumns(data) : '') : body.render(data)
      const attributes: (readonly [string, string])[] = []
      if (path.parts.length > 0) attributes.push([pathAttribute, requireAttributeText(path.render(data), 'the path')])
      for (const { name, value } of headers)
        attributes.push([headerAttributePrefix + name, requireAttributeText(value.render(data), `the header ${name}`)])
      return { payload: toBytes(text), attributes }
    }
  },

  overrideMaxRetries: ({ parameters }) => parameters.max_retries,
  findWriteOrder: () => 'nothing',
  open: (connector, action, { requestTimeoutMs }) => new HttpSink(connector, action, requestTimeoutMs),
}

class HttpSink implements Sink {
  readonly #requests: HttpRequests
  readonly #url: URL
  readonly #path: string
  /** The path of the previous entry, and the path of its request. */
  #lastPath: { readonly text: string; readonly path: string }
  readonly #headers: Readonly<Record<string, string>>
  /** Outcome of every entry if a configured header is invalid; undefined: the headers are valid. */
  readonly #invalidHeader: WriteOutcome | undefined
  readonly #method: string
  readonly #hasBody: boolean

  constructor(connector: HttpConnector, action: HttpAction, requestTimeoutMs: number) {
    this.#url = new URL(connector.url ?? '')
    this.#path = this.#url.pathname + this.#url.search
    this.#lastPath = { text: '', path: this.#path }
    this.#headers = { 'content-type': 'application/json', ...toLowerCaseNames(connector.headers) }
    this.#invalidHeader = Object.entries(this.#headers)
      .map(checkHeader)
      .find((problem) => problem !== undefined)
    this.#method = action.parameters.method.toUpperCase()
    this.#hasBody = this.#method === 'POST' || this.#method === 'PUT'
    this.#requests = new HttpRequests({
      origin: this.#url,
      poolSize: connector.pool_size,
      pipelining: connector.enable_pipelining,
      connectTimeoutMs: connector.connect_timeout,
      requestTimeoutMs,
      tls: this.#url.protocol === 'https:' ? toServiceTls({ ...connector.ssl, enable: true }) : undefined,
    })
  }

  write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    return Promise.all(batch.map((entry) => this.#send(entry)))
  }

  async #send({ payload, attributes }: ActionEntry): Promise<WriteOutcome> {
    let path = this.#path
    let headers = this.#headers
    let problem = this.#invalidHeader
    for (const [name, value] of attributes) {
      if (name === pathAttribute) {
        const encoded = this.#encodePath(value)
        if (encoded === undefined) return { outcome: 'refused', why: describeInvalidPath(value) }
        path = encoded
      } else if (name.startsWith(headerAttributePrefix)) {
        const header = name.slice(headerAttributePrefix.length).toLowerCase()
        headers = { ...headers, [header]: value }
        problem ??= checkHeader([header, value])
      }
    }
    if (problem !== undefined) return problem
    const body = this.#hasBody ? payload : undefined
    const result = await this.#requests.send({ path, method: this.#method, headers, body })
    if ('failure' in result) return { outcome: 'retry', why: result.failure }
    const { status, text } = result
    if (status >= 200 && status < 300) return done
    const why = `HTTP status ${status}${text === '' ? '' : `: ${text}`}`
    return { outcome: status >= 500 || retriedStatuses.has(status) ? 'retry' : 'refused', why }
  }

  /**
   * Returns the encoded path of the request; undefined if the URL is invalid, has another host, or leaves the path of the connector. The
   * renderer encodes values, but entries of earlier versions have values as they are.
   */
  #encodePath(text: string): string | undefined {
    if (text === this.#lastPath.text) return this.#lastPath.path
    const path = joinPath(this.#url, text)
    if (path === undefined || refersToOtherFolder(text)) return undefined
    this.#lastPath = { text, path }
    return path
  }

  /** A response with any status means that the service is available. */
  async check(): Promise<string | undefined> {
    const request = { path: this.#path, method: 'HEAD', headers: this.#headers, body: undefined }
    const result = await this.#requests.send(request)
    return 'failure' in result ? result.failure : undefined
  }

  close(): void {
    this.#requests.close()
  }
}

/** A form has its own encoding; of other bodies, those that are JSON are recognized by their template. */
function selectBodyEncoding(headers: ReadonlyMap<string, string>): 'query' | 'json-if-shaped' {
  const { 'content-type': type = '' } = toLowerCaseNames(headers)
  return type.startsWith('application/x-www-form-urlencoded') ? 'query' : 'json-if-shaped'
}

function toLowerCaseNames(headers: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [name.toLowerCase(), value]))
}

function refersToOtherFolder(path: string): boolean {
  const [folders = ''] = path.split(/[?#]/)
  return folders.split(/[/\\]/).some((folder) => ['.', '..'].includes(folder.replaceAll(/%2e/gi, '.')))
}

function describeInvalidPath(path: string): string {
  const problem = 'is not a valid path, has a part . or .., or leads to another host than url of the connector'
  return `the path ${JSON.stringify(path)} ${problem}: change parameters.path`
}

function checkHeader([name, value]: readonly [string, string]): WriteOutcome | undefined {
  if (!/[^\t\x20-\x7e\x80-\xff]/.test(value)) return undefined
  return { outcome: 'refused', why: `the header ${name} has a forbidden character` }
}
