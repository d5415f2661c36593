// The sink for S3 and compatible services. It writes one object for each result, or one for a batch.
//
//   direct       each entry is an object; its attributes have its key
//   aggregated   each entry is a line; a batch is an object of lines, when it has max_records or after time_interval

import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import { createCsvRenderer } from '../csv.ts'
import { findHeadersProblem } from '../http/http-settings-check.ts'
import { toOutcome, findResponseProblem, ServiceClient, toBaseUrl } from '../http/service-client.ts'
import type { HttpResult } from '../http/http-exchange.ts'
import {
  toBytes,
  type CompileTemplate,
  type NamedValue,
  type Sink,
  type SinkContext,
  type SinkType,
  type ActionEntry,
  requireAttributeText,
  type WriteOutcome,
} from '../sink.ts'
import { findServerProblem } from '../service-address.ts'
import { type Credentials, encodeKey, signRequest } from './sign-request.ts'

type S3Connector = NamedValue<ConnectorsConfig['s3']>
type S3Action = NamedValue<ActionsConfig['s3']>

const keyAttribute = 'key'
const bucketAttribute = 'bucket'
const maxKeyBytes = 1_024
const bucketForm = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const lineBreak = Buffer.from('\n')
/** A request that lists no objects. */
const checkQuery = 'list-type=2&max-keys=1&prefix=godwit-check%2F'
const emptyBody = Buffer.alloc(0)

export const s3SinkType: SinkType<S3Action, S3Connector> = {
  findConnectorProblem({ host, port, access_key_id: id, secret_access_key: secret }) {
    if (host === undefined) return 'host: write the host of the service, such as s3.eu-central-1.amazonaws.com'
    if (id === undefined || secret === undefined) return 'access_key_id: write access_key_id and secret_access_key'
    const problem = findServerProblem({ server: `${host.includes(':') ? `[${host}]` : host}:${port}` }, port)
    return problem?.replace(/^server/, 'host')
  },

  findActionProblem({ parameters }, compile) {
    const { bucket, key, mode, container, headers } = parameters
    const problem = findHeadersProblem(headers, 'parameters.headers')
    if (problem !== undefined) return problem
    if (bucket === '') return 'parameters.bucket: write the name of the bucket'
    if (key === '') return 'parameters.key: write the key of the object, such as ${clientid}/${id}.json'
    if (mode === 'direct') return undefined
    if (!bucketForm.test(bucket))
      return 'parameters.bucket: an aggregated object has a fixed bucket: 3 to 63 letters, digits, - and .'
    if (
      !compile(key).parts.some((part) => typeof part !== 'string' && (part as { text: string }).text === '${sequence}')
    )
      return 'parameters.key: write ${sequence} in it, so that no object replaces another one'
    if (container.type === 'csv' && container.column_order.length === 0)
      return 'parameters.container.column_order: write the columns, such as [timestamp, clientid]'
    return undefined
  },

  overrideBatching: ({ parameters: { mode, aggregation } }) =>
    mode === 'aggregated' ? { batchSize: aggregation.max_records, batchTimeMs: aggregation.time_interval } : undefined,

  createRenderer({ parameters }, compile, allColumns) {
    const { mode, bucket, key, content, container } = parameters
    if (mode === 'aggregated') return createLineRenderer(container, compile, allColumns)
    const [bucketTemplate, keyTemplate] = [compile(bucket), compile(key, 'key')]
    const contentTemplate = content === undefined ? undefined : compile(content, 'json-if-shaped')
    return (data) => ({
      payload: toBytes(contentTemplate === undefined ? allColumns(data) : contentTemplate.render(data)),
      attributes: [
        [bucketAttribute, requireBucketName(requireAttributeText(bucketTemplate.render(data), 'the bucket'))],
        [keyAttribute, requireObjectKey(requireAttributeText(keyTemplate.render(data), 'the key'))],
      ],
    })
  },

  findWriteOrder: ({ parameters: { mode } }) => (mode === 'direct' ? 'nothing' : 'batch'),
  open: (connector, action, context) => new S3Sink(connector, action, context),
}

function createLineRenderer(
  { type, column_order: columns }: S3Action['parameters']['container'],
  compile: CompileTemplate,
  allColumns: Parameters<SinkType<S3Action, S3Connector>['createRenderer']>[2],
): ReturnType<SinkType<S3Action, S3Connector>['createRenderer']> {
  if (type === 'json_lines') return (data) => ({ payload: Buffer.from(allColumns(data)), attributes: [] })
  const row = createCsvRenderer(columns.map((column) => `\${${column}}`).join(','), compile)
  return (data) => ({ payload: row(data), attributes: [] })
}

function requireBucketName(text: string): string {
  if (bucketForm.test(text)) return text
  throw new TypeError(`s3: ${JSON.stringify(text.slice(0, 80))} is not a bucket name`)
}

function requireObjectKey(text: string): string {
  const length = Buffer.byteLength(text)
  if (length === 0 || length > maxKeyBytes)
    throw new TypeError(`s3: the key has ${length} bytes; it must have 1 to ${maxKeyBytes}`)
  // In the path of a URL, these parts refer to the same or the parent folder.
  if (text.split('/').some((part) => part === '.' || part === '..'))
    throw new TypeError('s3: a part of the key is . or ..')
  return text
}

interface S3Object {
  readonly bucket: string
  readonly key: string
  readonly body: Buffer
  readonly contentType: string
}

class S3Sink implements Sink {
  readonly #client: ServiceClient
  readonly #credentials: Credentials
  readonly #hostHeader: string
  readonly #parameters: S3Action['parameters']
  readonly #context: SinkContext
  readonly #headers: ReturnType<typeof splitHeaders>
  #sequence = 0

  constructor(connector: S3Connector, action: S3Action, context: SinkContext) {
    const { host, port, ssl, region, access_key_id: accessKeyId, secret_access_key: secretAccessKey } = connector
    const base = toBaseUrl({ host: host ?? '', port }, { isSecure: ssl.enable })
    this.#hostHeader = base.host
    this.#credentials = { accessKeyId: accessKeyId ?? '', secretAccessKey: secretAccessKey ?? '', region }
    this.#parameters = action.parameters
    this.#headers = splitHeaders(action.parameters)
    this.#context = context
    this.#client = new ServiceClient({
      base,
      headers: {},
      ssl,
      poolSize: connector.pool_size,
      connectTimeoutMs: connector.connect_timeout,
      requestTimeoutMs: context.requestTimeoutMs,
    })
  }

  async write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    if (this.#parameters.mode === 'direct') return Promise.all(batch.map((entry) => this.#put(toDirectObject(entry))))
    const outcome = await this.#put(this.#createAggregatedObject(batch))
    return batch.map(() => outcome)
  }

  #createAggregatedObject(batch: readonly ActionEntry[]): S3Object {
    const { bucket, key, container } = this.#parameters
    const isCsv = container.type === 'csv'
    const header = isCsv ? [Buffer.from(`${container.column_order.join(',')}\n`)] : []
    const nowMs = Date.now()
    const data = {
      action: this.#context.action,
      node: this.#context.nodeName,
      // Unique for the shard of this node, also after a restart.
      sequence: `${this.#context.shard}-${nowMs.toString(36)}-${++this.#sequence}`,
      datetime: { rfc3339utc: new Date(nowMs).toISOString().replace(/\.\d+/, ''), unix: Math.floor(nowMs / 1_000) },
      container: { type: container.type },
    }
    return {
      bucket,
      key: String(this.#context.compile(key).render(data)),
      body: Buffer.concat([...header, ...batch.flatMap(({ payload }) => [payload, lineBreak])]),
      contentType: isCsv ? 'text/csv' : 'application/x-ndjson',
    }
  }

  async #put({ bucket, key, body, contentType }: S3Object): Promise<WriteOutcome> {
    const path = `/${bucket}/${encodeKey(key)}`
    const { amzHeaders, headers } = this.#headers
    const allHeaders = { 'content-type': contentType, ...headers }
    return toOutcome(await this.#send('PUT', { path, query: '', body, headers: allHeaders, amzHeaders }))
  }

  /** Checks whether the bucket exists and the access key is valid. A user that may write may not be allowed to list. */
  async check(): Promise<string | undefined> {
    const { bucket } = this.#parameters
    const path = bucketForm.test(bucket) ? `/${bucket}` : '/'
    const query = path === '/' ? '' : checkQuery
    const result = await this.#send('GET', { path, query, body: emptyBody, headers: {} })
    if ('status' in result && result.status === 403 && result.text.includes('<Code>AccessDenied</Code>'))
      return undefined
    return findResponseProblem(result)
  }

  close(): void {
    this.#client.close()
  }

  #send(
    method: 'GET' | 'PUT',
    {
      path,
      query,
      body,
      headers,
      amzHeaders = {},
    }: {
      readonly path: string
      readonly query: string
      readonly body: Buffer
      readonly headers: Readonly<Record<string, string>>
      readonly amzHeaders?: Readonly<Record<string, string>> | undefined
    },
  ): Promise<HttpResult> {
    const unsigned = { method, host: this.#hostHeader, path, query, body, amzHeaders }
    const signed = signRequest(unsigned, this.#credentials, Date.now())
    const sentBody = method === 'GET' ? {} : { body }
    const target = query === '' ? path : `${path}?${query}`
    return this.#client.send({ method, path: target, headers: { ...headers, ...signed }, ...sentBody })
  }
}

/** Headers of the service, which must be signed. */
function splitHeaders({ acl, headers: configured }: S3Action['parameters']) {
  const amzHeaders: Record<string, string> = acl === undefined ? {} : { 'x-amz-acl': acl.replaceAll('_', '-') }
  const headers: Record<string, string> = {}
  for (const [name, value] of configured) {
    const lowerCase = name.toLowerCase()
    const target = lowerCase.startsWith('x-amz-') ? amzHeaders : headers
    target[lowerCase] = value
  }
  return { amzHeaders, headers }
}

function toDirectObject({ payload, attributes }: ActionEntry): S3Object {
  const values = new Map(attributes)
  const [bucket, key] = [values.get(bucketAttribute) ?? '', values.get(keyAttribute) ?? '']
  return { bucket, key, body: payload, contentType: 'application/octet-stream' }
}
