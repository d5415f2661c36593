// The contract as an OpenAPI 3.1 document. Its schemas are JSON Schema already and are used unchanged.

import { type Endpoint, failure, failureWithReason, namespaceKey } from '../definition/endpoint.ts'
import { reasons } from '../definition/reasons.ts'
import type { TObject, TSchema } from '../definition/schema.ts'
import { listPossibleFailures, listPossibleReasons } from './possible-failures.ts'
import { deriveTag, listUrls } from './list-urls.ts'

/** A JSON value of the document. */
export interface DocumentPart {
  readonly [key: string]: unknown
}

/** `version`: of the program. */
export function createOpenApi(endpoints: Readonly<Record<string, Endpoint>>, version: string): OpenApiDocument {
  const paths: Record<string, Record<string, Operation>> = {}
  for (const [name, endpoint] of Object.entries(endpoints)) {
    for (const [at, url] of listUrls(endpoint).entries()) {
      const methods = (paths[url.replaceAll(/:(\w+)/g, '{$1}')] ??= {})
      // A second address of an operation needs its own name.
      methods[endpoint.method.toLowerCase()] = toOperation(at === 0 ? name : `${name}_at_root`, endpoint)
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Godwit management API',
      version,
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ basic: [] }, { token: [] }, { login: [] }],
    paths,
    components,
  }
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: DocumentPart
  readonly servers: readonly DocumentPart[]
  readonly security: readonly DocumentPart[]
  /** By path with `{name}` for parameters, then by method in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: DocumentPart
}

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly security?: readonly DocumentPart[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: DocumentPart
  readonly responses: Readonly<Record<string, DocumentPart>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly description?: string
  readonly schema: TSchema | DocumentPart
}

const description = [
  'A failed request has a `code`, a number from the table in `docs/errors.md`, and a `message`. A successful one has the code 0.',
  'Some operations of `/api/v5`, and `/api/v4/metrics`, return their object or list without a code: the HTTP status says that they succeeded.',
  'Failed requests below `/api/v5` also have a `reason`: a constant name of the error.',
  'Authenticate each request with HTTP Basic (an account, or the ID and secret of an API key), with a JSON Web Token, or with the token of a login.',
].join('\n')

const components: DocumentPart = {
  securitySchemes: {
    basic: { type: 'http', scheme: 'basic' },
    token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    login: { type: 'http', scheme: 'bearer', description: 'Token that `POST /api/v5/login` returned.' },
  },
  schemas: { Failure: failure, FailureWithReason: failureWithReason },
}

function toOperation(operationId: string, endpoint: Endpoint): Operation {
  const ofNamespaces = endpoint.isForNamespaces === true ? [namespaceParameter] : []
  const parameters = [...listPathParameters(endpoint), ...listQueryParameters(endpoint.query), ...ofNamespaces]
  return {
    operationId,
    tags: [deriveTag(endpoint)],
    summary: endpoint.summary,
    ...(endpoint.access === 'open' ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(endpoint.body === undefined ? {} : { requestBody: describeBody(endpoint, endpoint.body) }),
    responses: {
      [String(endpoint.status ?? 200)]: {
        description: 'Success.',
        content: describeContent(endpoint.reply, endpoint.replyType),
      },
      ...describeFailures(endpoint),
    },
  }
}

const namespaceParameter = toParameter(
  namespaceKey,
  'query',
  {
    type: 'string',
    description: 'Namespace of the request; absent: the whole broker. An account of a namespace always uses its own.',
  },
  false,
)

function listPathParameters({ path, params }: Endpoint): Parameter[] {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  return names.map((name) => toParameter(name, 'path', params?.properties[name] ?? { type: 'string' }, true))
}

function listQueryParameters(query: TObject | undefined): Parameter[] {
  const required = (query as { required?: readonly string[] } | undefined)?.required ?? []
  const known = Object.entries<TSchema>(query?.properties ?? {})
  return known.map(([name, schema]) => toParameter(name, 'query', schema, required.includes(name)))
}

function toParameter(
  name: string,
  location: Parameter['in'],
  schema: TSchema | DocumentPart,
  required: boolean,
): Parameter {
  const words = (schema as { description?: string }).description
  return { name, in: location, required, ...(words === undefined ? {} : { description: words }), schema }
}

function describeBody({ bodyMayBeAbsent }: Endpoint, body: NonNullable<Endpoint['body']>): DocumentPart {
  return { required: bodyMayBeAbsent !== true, content: body === 'upload' ? form : describeContent(body) }
}

const bytes = { type: 'string', format: 'binary' }
const form = { 'multipart/form-data': { schema: { type: 'object', properties: { filename: bytes } } } }

function describeContent(schema: TSchema | 'text' | 'bytes', type = 'text/plain'): DocumentPart {
  if (schema === 'bytes') return { 'application/octet-stream': { schema: bytes } }
  return schema === 'text'
    ? { [type.replace(/;.*/, '')]: { schema: { type: 'string' } } }
    : { 'application/json': { schema } }
}

/** One response for each status, with its codes or reasons. */
function describeFailures(endpoint: Endpoint): Record<string, DocumentPart> {
  const byStatus = new Map<number, string[]>()
  const addFailure = (status: number, text: string): void =>
    void byStatus.set(status, [...(byStatus.get(status) ?? []), text])
  for (const { code, status, sentence } of listPossibleFailures(endpoint)) addFailure(status, `${code}: ${sentence}`)
  for (const name of listPossibleReasons(endpoint))
    addFailure(reasons[name].status, `${name}: ${reasons[name].sentence}`)
  const form = endpoint.version === undefined ? 'Failure' : 'FailureWithReason'
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${form}` } } }
  return Object.fromEntries(
    [...byStatus].map(([status, texts]) => [String(status), { description: `${texts.join('; ')}.`, content }]),
  )
}
