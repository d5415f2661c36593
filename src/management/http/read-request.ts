// Checks path, query and body of a request against its endpoint.

import { isUtf8 } from 'node:buffer'
import {
  type Caller,
  type Endpoint,
  namespaceKey,
  type RequestOf,
  type Shape,
  type ShapeError,
  compileShape,
} from '../../contract/index.ts'
import { type ApiError, refuse, quoteShortened } from './api-error.ts'
import { findJsonFault } from './find-json-fault.ts'
import { checkMisspelledKeys } from './check-misspelled-keys.ts'
import { checkUnknownRights } from './check-unknown-rights.ts'

/** The checks of one endpoint, compiled once. */
export class RequestShapes {
  readonly endpoint: Endpoint
  readonly params: Shape | undefined
  readonly query: Shape | undefined
  readonly body: Shape | undefined

  constructor(endpoint: Endpoint) {
    const { params, query, body, bodyCheckedBy } = endpoint
    this.endpoint = endpoint
    this.params = params === undefined ? undefined : compileShape(params)
    this.query = query === undefined ? undefined : compileShape(query)
    this.body = typeof body === 'object' && bodyCheckedBy === undefined ? compileShape(body) : undefined
  }
}

/** The parts of a request as received over HTTP. */
export interface RawRequest {
  readonly params: unknown
  readonly query: unknown
  readonly body?: unknown
}

/** Returns the checked request, or why the handler is not called. */
export function readRequest(shapes: RequestShapes, raw: RawRequest, caller: Caller): RequestOf<Endpoint> | ApiError {
  const { endpoint } = shapes
  const params = raw.params as Record<string, string>
  const paramsFault = shapes.params?.findFault(params)
  if (paramsFault !== undefined) return refuseShape('path', paramsFault)
  const unknown = endpoint.unknownQuery === 'refuse' ? findUnknownKey(endpoint, raw.query) : undefined
  if (unknown !== undefined)
    return refuse('invalidParameter', `there is no ${unknown} in the query of ${endpoint.path}`)
  const query = readQuery(endpoint, raw.query as Record<string, string>)
  const queryFault = shapes.query?.findFault(query)
  if (queryFault !== undefined) return refuseShape('query', queryFault)
  if (endpoint.body === 'upload') return { params, query, body: undefined, caller }
  const bytes = Buffer.isBuffer(raw.body) ? raw.body : Buffer.of()
  if (endpoint.body !== undefined && !isUtf8(bytes)) {
    // A text body is a configuration.
    return refuse(endpoint.body === 'text' ? 'notHocon' : 'notJson', 'the body is not text in UTF-8')
  }
  const text = bytes.toString()
  if (endpoint.body === 'text') return { params, query, body: text, caller }
  if (endpoint.body === undefined) return { params, query, body: undefined, caller }
  let body: unknown
  try {
    body = text === '' && endpoint.bodyMayBeAbsent === true ? {} : JSON.parse(text)
  } catch {
    return refuse('notJson', `the body is not JSON${describeFaultPosition(text)}`)
  }
  const kind = findRequiredKind(endpoint, body)
  if (kind !== undefined) return refuse('notJson', `the body is not ${kind}`)
  const unknownRights = checkUnknownRights(endpoint, raw.query, body)
  if (unknownRights !== undefined) return unknownRights
  const isCheckedHere = typeof endpoint.body === 'object' && endpoint.bodyCheckedBy === undefined
  const misspelled = isCheckedHere ? checkMisspelledKeys(endpoint.body, body, 'body') : undefined
  if (misspelled !== undefined) return misspelled
  const bodyFault = shapes.body?.findFault(body)
  return bodyFault === undefined ? { params, query, body: body as never, caller } : refuseShape('body', bodyFault)
}

export function refuseShape(
  where: 'path' | 'query' | 'body' | 'entry',
  { path, message, isMissing }: ShapeError,
): ApiError {
  const key = path === '' ? `the ${where}` : `${path.slice(1).replaceAll('/', '.')} in the ${where}`
  return isMissing ? refuse('missingParameter', `${key} is missing`) : refuse('invalidParameter', `${key} ${message}`)
}

/** Returns the required kind of body if it has another one. */
function findRequiredKind({ body: schema }: Endpoint, body: unknown): string | undefined {
  const { type } = schema as { type?: string }
  if (type === 'array') return Array.isArray(body) ? undefined : 'an array of JSON'
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
  if (type === 'object') return isObject ? undefined : 'an object of JSON'
  return isObject || Array.isArray(body) ? undefined : 'an object or array of JSON'
}

function findUnknownKey({ query, isForNamespaces = false }: Endpoint, raw: unknown): string | undefined {
  const known = query?.properties ?? {}
  const isKnown = (key: string): boolean => Object.hasOwn(known, key) || (isForNamespaces && key === namespaceKey)
  const found = Object.keys(raw as object).find((key) => !isKnown(key))
  return found === undefined ? undefined : JSON.stringify(found)
}

/** Converts the values of the query to the types of their schema. A text that cannot be converted stays text, and the check reports it. */
function readQuery(endpoint: Endpoint, raw: Record<string, string>): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  for (const [key, schema] of Object.entries(endpoint.query?.properties ?? {})) {
    const text = raw[key]
    if (text === undefined) continue
    query[key] = parseValue(text, (schema as { type?: string }).type)
  }
  return query
}

function parseValue(text: string, type: string | undefined): unknown {
  if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (type === 'boolean' && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  return text
}

/** Returns the position of the first JSON error in a text. */
function describeFaultPosition(text: string): string {
  if (text.trim() === '') return ': it is empty'
  const { path, line } = findJsonFault(text)
  return `: fault ${path === '' ? '' : `in ${quoteShortened(path)}, `}in line ${line}`
}
