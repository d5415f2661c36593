// The sink for Elasticsearch and OpenSearch. It uses the bulk API.

import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import type { HttpResult } from '../http/http-exchange.ts'
import {
  toBaseUrl,
  toBasicAuthorization,
  toOutcome,
  findResponseProblem,
  ServiceClient,
} from '../http/service-client.ts'
import { parseHostAndPort, findServerProblem } from '../service-address.ts'
import {
  type NamedValue,
  type Sink,
  type SinkContext,
  type SinkType,
  type ActionEntry,
  requireAttributeText,
  type WriteOutcome,
} from '../sink.ts'
import { writeByHalves } from '../write-by-halves.ts'

type ElasticConnector = NamedValue<ConnectorsConfig['elasticsearch']>
type ElasticAction = NamedValue<ActionsConfig['elasticsearch']>

const defaultPort = 9_200
const operationAttribute = 'operation'
const done: WriteOutcome = { outcome: 'done' }
const lineBreak = Buffer.from('\n')
/** The used part of the response. */
const bulkPath = '/_bulk?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason'
const maxResponseLength = 16_777_216
const maxIdBytes = 512

export const elasticsearchSinkType: SinkType<ElasticAction, ElasticConnector> = {
  findConnectorProblem(connector) {
    const { username, api_key: key } = connector.authentication
    if (username !== undefined && key !== undefined)
      return 'authentication: write a user name or an API key, and not both'
    return findServerProblem(connector, defaultPort)
  },

  findActionProblem({ parameters: { action, index, id } }) {
    if (index === '') return 'parameters.index: write the name of the index, such as readings'
    if (action !== 'create' && id === undefined) return `parameters.id: ${action} needs the ID of the document`
    return undefined
  },

  createRenderer({ parameters }, compile, allColumns) {
    const { action, overwrite, index, id, routing, require_alias: requiresAlias, doc } = parameters
    const [indexTemplate, idTemplate] = [compile(index, 'index'), id === undefined ? undefined : compile(id)]
    const routingTemplate = routing === undefined ? undefined : compile(routing)
    const docTemplate = doc === undefined ? undefined : compile(doc, 'json')
    const operation = action === 'create' && overwrite ? 'index' : action
    return (data) => {
      const place: Record<string, string | boolean> = {
        _index: requireAttributeText(indexTemplate.render(data), 'the index'),
      }
      if (idTemplate !== undefined)
        place['_id'] = requireDocumentId(requireAttributeText(idTemplate.render(data), 'the ID'))
      if (routingTemplate !== undefined)
        place['routing'] = requireAttributeText(routingTemplate.render(data), 'the routing')
      if (requiresAlias) place['require_alias'] = true
      const attributes = [[operationAttribute, JSON.stringify({ [operation]: place })]] as const
      if (action === 'delete') return { payload: Buffer.alloc(0), attributes }
      const document = requireJsonObject(docTemplate === undefined ? allColumns(data) : docTemplate.render(data))
      const wrapped =
        action === 'update' ? `{"doc":${document},"doc_as_upsert":${String(parameters.doc_as_upsert)}}` : document
      return { payload: Buffer.from(wrapped), attributes }
    }
  },

  findWriteOrder: () => 'batch',
  open: (connector, _, context) => new ElasticSink(connector, context),
}

function requireDocumentId(text: string): string {
  const length = Buffer.byteLength(text)
  if (length > 0 && length <= maxIdBytes) return text
  throw new TypeError(`elasticsearch: the ID of a document has 1 to ${maxIdBytes} bytes, and not ${length}`)
}

/** Returns the JSON of an object on one line. Line breaks between tokens become spaces. */
function requireJsonObject(text: string | Uint8Array): string {
  if (typeof text === 'string') {
    try {
      const value: unknown = JSON.parse(text)
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text.replaceAll(/[\r\n]+/g, ' ')
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
    }
  }
  throw new TypeError('elasticsearch: the document is not an object of JSON')
}

class ElasticSink implements Sink {
  readonly #client: ServiceClient

  constructor(connector: ElasticConnector, { requestTimeoutMs }: SinkContext) {
    const { server, authentication, ssl, pool_size: poolSize, connect_timeout: connectTimeoutMs } = connector
    const { username, password, api_key: key } = authentication
    this.#client = new ServiceClient({
      base: toBaseUrl(parseHostAndPort(server ?? '', defaultPort), { isSecure: ssl.enable }),
      headers: {
        'content-type': 'application/x-ndjson',
        ...(key === undefined ? toBasicAuthorization(username, password) : { authorization: `ApiKey ${key}` }),
      },
      ssl,
      poolSize,
      pipelining: connector.enable_pipelining,
      connectTimeoutMs,
      requestTimeoutMs,
    })
  }

  write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    return writeByHalves(batch, async (entries) => {
      const body = Buffer.concat(entries.flatMap(toLines))
      const result = await this.#client.send({ path: bulkPath, body, maxResponseLength })
      return toOutcomes(result, entries)
    })
  }

  async check(): Promise<string | undefined> {
    return findResponseProblem(await this.#client.send({ method: 'GET', path: '/' }))
  }

  close(): void {
    this.#client.close()
  }
}

function readOperation({ attributes }: ActionEntry): string {
  return attributes.find(([name]) => name === operationAttribute)?.[1] ?? ''
}

function toLines(entry: ActionEntry): readonly Buffer[] {
  const operation = Buffer.from(`${readOperation(entry)}\n`)
  return entry.payload.length === 0 ? [operation] : [operation, entry.payload, lineBreak]
}

interface BulkItem {
  readonly status?: number
  readonly error?: { readonly type?: string; readonly reason?: string }
}

function toOutcomes(result: HttpResult, entries: readonly ActionEntry[]): WriteOutcome | readonly WriteOutcome[] {
  const outcome = toOutcome(result)
  if (outcome.outcome !== 'done' || !('text' in result)) return outcome
  const unreadable: WriteOutcome = { outcome: 'retry', why: 'the response is not that of the bulk API' }
  let response: unknown
  try {
    response = JSON.parse(result.text)
  } catch (error) {
    if (error instanceof SyntaxError) return unreadable
    throw error
  }
  const { errors, items } = response as { readonly errors?: unknown; readonly items?: unknown }
  if (errors === false) return done
  if (!Array.isArray(items) || items.length !== entries.length) return unreadable
  return entries.map((entry, at) => {
    const [item] = Object.values((items as Record<string, BulkItem>[])[at] ?? {})
    return item === undefined ? unreadable : toItemOutcome(readOperation(entry), item)
  })
}

const passingStatuses = new Set([403, 408, 429])

function toItemOutcome(operation: string, { status = 500, error }: BulkItem): WriteOutcome {
  if (status >= 200 && status < 300) return done
  // An earlier attempt without a response has written or deleted the document.
  if (status === 409 && operation.startsWith('{"create"')) return done
  if (status === 404 && operation.startsWith('{"delete"')) return done
  const why = `status ${status}: ${error?.type ?? 'unknown'}: ${error?.reason ?? ''}`.slice(0, 300)
  return { outcome: status >= 500 || passingStatuses.has(status) ? 'retry' : 'refused', why }
}
