// Converts commands from MQTT, which are JSON, into CoAP requests to devices, and responses of devices into JSON.

import {
  code,
  type CoapMessage,
  type CoapOption,
  formatCode,
  methods,
  options,
  readUint,
  createUintOption,
} from '../coap/endpoint/coap-message.ts'
import { decodeContent, formats } from './content.ts'
import { splitLinks } from './link-format.ts'
import type { ObjectDefinitions } from './objects.ts'
import { type ObjectPath, parsePath, formatPath } from './lwm2m-path.ts'
import { encodeTlv, type TlvResource } from './tlv.ts'
import { encodeValue } from './lwm2m-values.ts'

type JsonObject = Readonly<Record<string, unknown>>

export interface Command {
  /** The whole command as received. The response repeats its members. */
  readonly received: JsonObject
  readonly type: string
  readonly path: ObjectPath
  /** The path as received, without the query. */
  readonly pathText: string
  readonly request: DeviceRequest
  /** The command starts or ends an observation. */
  readonly observes: 'begin' | 'end' | undefined
}

export interface DeviceRequest {
  readonly method: number
  readonly path: ObjectPath
  readonly queries: readonly string[]
  readonly options: readonly CoapOption[]
  readonly payload: Buffer
}

const noBytes = Buffer.alloc(0)
const attributes = ['pmin', 'pmax', 'gt', 'lt', 'st'] as const

/** Parses a command. Returns a sentence about the first fault if it is not valid. */
export function parseCommand(payload: Buffer): Command | string {
  let parsed: unknown
  try {
    parsed = JSON.parse(payload.toString('utf8'))
  } catch (error) {
    return `it is not JSON: ${(error as Error).message}`
  }
  if (!isJsonObject(parsed)) return 'it is not a JSON object'
  const { msgType: type, data } = parsed
  if (typeof type !== 'string' || !isJsonObject(data)) return 'msgType or data is missing'
  const pathAndQuery = data['basePath'] ?? data['path']
  if (typeof pathAndQuery !== 'string') return 'data has no path'
  const [pathText = '', query = ''] = pathAndQuery.split('?', 2)
  const path = parsePath(pathText)
  if (path === undefined || path.length === 0)
    return `${pathAndQuery} is not the path of an object, an instance or a resource`
  const request = createRequest(type, data, path)
  if (typeof request === 'string') return request
  const observes = type === 'observe' ? 'begin' : type === 'cancel-observe' ? 'end' : undefined
  const queries = [...query.split('&').filter((part) => part !== ''), ...(request.queries ?? [])]
  return {
    received: parsed,
    type,
    path,
    pathText,
    request: { options: [], payload: noBytes, ...request, path, queries },
    observes,
  }
}

/** Returns the options of the request with path and query. `alternatePath`: that of the device, before the path. */
export function toPathOptions({ request: { path, queries } }: Command, alternatePath: string): readonly CoapOption[] {
  const segments = [...alternatePath.split('/').filter((part) => part !== ''), ...path.map(String)]
  return [
    ...segments.map((segment) => ({ number: options.uriPath, value: Buffer.from(segment) })),
    ...queries.map((query) => ({ number: options.uriQuery, value: Buffer.from(query) })),
  ]
}

type RequestParts = Partial<DeviceRequest> & Pick<DeviceRequest, 'method'>

function createRequest(type: string, data: JsonObject, path: ObjectPath): RequestParts | string {
  switch (type) {
    case 'read':
      return { method: methods.get }
    case 'discover':
      return { method: methods.get, options: [createUintOption(options.accept, formats.link)] }
    case 'delete':
      return { method: methods.delete }
    case 'observe':
      return { method: methods.get, options: [createUintOption(options.observe, 0)] }
    case 'cancel-observe':
      return { method: methods.get, options: [createUintOption(options.observe, 1)] }
    case 'execute':
      return createExecuteRequest(data)
    case 'write-attr':
      return { method: methods.put, queries: readAttributes(data) }
    case 'write':
      return createWriteRequest(data, path)
    case 'create':
      return createTlvRequest(data['content'], path, methods.post)
    default:
      return `the msgType ${JSON.stringify(type.slice(0, 40))} is unknown`
  }
}

function createExecuteRequest({ args }: JsonObject): RequestParts {
  const text = typeof args === 'string' ? args : ''
  const format = text === '' ? [] : [createUintOption(options.contentFormat, formats.text)]
  return { method: methods.post, options: format, payload: Buffer.from(text) }
}

function readAttributes(data: JsonObject): readonly string[] {
  return attributes.flatMap((name) => {
    const value = data[name]
    return typeof value === 'string' || typeof value === 'number' ? [`${name}=${value}`] : []
  })
}

/** An instance is updated by POST, a resource is replaced by PUT. */
function createWriteRequest(data: JsonObject, path: ObjectPath): RequestParts | string {
  if (data['content'] === undefined) return createTlvRequest([data], path, methods.put)
  return createTlvRequest(data['content'], path, path.length === 2 ? methods.post : methods.put)
}

function createTlvRequest(content: unknown, base: ObjectPath, method: number): RequestParts | string {
  if (!Array.isArray(content)) return 'content is not a list'
  const resources: TlvResource[] = []
  for (const entry of content as readonly unknown[]) {
    if (!isJsonObject(entry) || typeof entry['path'] !== 'string') return 'an entry of content has no path'
    const { path: text, type, value } = entry
    const own = parseResourcePath(base, text)
    if (own === undefined) return `${text} is not a resource of ${formatPath(base)}`
    const bytes = typeof type === 'string' ? encodeValue(value, type) : undefined
    if (bytes === undefined) return `the value of ${text} is not a ${String(type)}`
    resources.push({ path: own, bytes })
  }
  return {
    method,
    options: [createUintOption(options.contentFormat, formats.tlv)],
    payload: encodeTlv(base, resources),
  }
}

/** Parses the path of a resource: absolute, or relative to `base` with or without a slash. Undefined if `base` has no such resource. */
function parseResourcePath(base: ObjectPath, text: string): ObjectPath | undefined {
  const relative = `${formatPath(base)}${text.startsWith('/') ? '' : '/'}${text}`
  return [text.startsWith('/') ? text : relative, relative]
    .map(parsePath)
    .find((own) => own !== undefined && own.length >= 3 && base.every((id, at) => own[at] === id))
}

/** A complete response of a device. */
interface DeviceResponse {
  /** The last message of the response. */
  readonly response: CoapMessage
  /** The content of all its blocks. */
  readonly body: Buffer
}

/** Returns the JSON that is published for a response. */
export function toResponseDocument(
  command: Command,
  { response, body }: DeviceResponse,
  objects: ObjectDefinitions,
): JsonObject {
  const data: Record<string, unknown> = {
    reqPath: command.pathText,
    code: formatCode(response.code),
    codeMsg: codeNames[response.code] ?? 'unknown',
  }
  const isContent = response.code === code(2, 5)
  if (isContent) data['content'] = decodeResponseContent(command, { response, body }, objects)
  return { ...command.received, data }
}

/** Returns the JSON that is published without a response: `msgType` is `ack`, `coap_timeout` or `coap_reset`. */
export function toNoticeDocument(command: Command, msgType: string): JsonObject {
  return { ...command.received, msgType }
}

export function decodeResponseContent(
  { type, path }: Pick<Command, 'type' | 'path'>,
  { response, body }: DeviceResponse,
  objects: ObjectDefinitions,
): unknown {
  const format = readUint(response, options.contentFormat)
  if (type === 'discover' || format === formats.link) return splitLinks(body.toString('utf8'))
  const values = decodeContent(body, format, { path, objects })
  // An invalid body is published unchanged.
  if (values === undefined) return [{ path: formatPath(path), value: body.toString('base64') }]
  return values.map(({ path: at, value }) => ({ path: formatPath(at), value }))
}

const codeNames: Readonly<Record<number, string>> = {
  [code(2, 1)]: 'created',
  [code(2, 2)]: 'deleted',
  [code(2, 3)]: 'valid',
  [code(2, 4)]: 'changed',
  [code(2, 5)]: 'content',
  [code(2, 31)]: 'continue',
  [code(4, 0)]: 'bad_request',
  [code(4, 1)]: 'unauthorized',
  [code(4, 2)]: 'bad_option',
  [code(4, 3)]: 'forbidden',
  [code(4, 4)]: 'not_found',
  [code(4, 5)]: 'method_not_allowed',
  [code(4, 6)]: 'not_acceptable',
  [code(4, 8)]: 'request_entity_incomplete',
  [code(4, 12)]: 'precondition_failed',
  [code(4, 13)]: 'request_entity_too_large',
  [code(4, 15)]: 'unsupported_content_format',
  [code(5, 0)]: 'internal_server_error',
  [code(5, 1)]: 'not_implemented',
  [code(5, 2)]: 'bad_gateway',
  [code(5, 3)]: 'service_unavailable',
  [code(5, 4)]: 'gateway_timeout',
  [code(5, 5)]: 'proxying_not_supported',
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
