// Decodes the payload of a device by its content format [LwM2M 1.1 Core 7.4, RFC 8428] into values with paths.

import { linkFormat } from '../coap/endpoint/coap-message.ts'
import { type CborValue, decodeCbor } from './cbor.ts'
import type { ObjectDefinitions } from './objects.ts'
import { type ObjectPath, parsePath } from './lwm2m-path.ts'
import { decodeTlv } from './tlv.ts'
import { toJsonNumber, type JsonValue, type ResourceValue, decodeValue, parseValue } from './lwm2m-values.ts'

/** CoRE content formats; `old`: of drafts, which devices still use. */
export const formats = {
  text: 0,
  link: linkFormat,
  opaque: 42,
  cbor: 60,
  senmlJson: 110,
  senmlCbor: 112,
  oldText: 1_541,
  oldTlv: 1_542,
  oldJson: 1_543,
  tlv: 11_542,
  json: 11_543,
} as const

/** Undefined: the payload is invalid for its format. */
export function decodeContent(
  payload: Buffer,
  format: number | undefined,
  { path, objects }: { readonly path: ObjectPath; readonly objects: ObjectDefinitions },
): readonly ResourceValue[] | undefined {
  const type = objects.findType(path)
  switch (format) {
    case formats.tlv:
    case formats.oldTlv:
      return decodeTlv(payload, path, objects)
    case formats.senmlJson:
      return readRecords(parseJson(payload), path)
    case formats.json:
    case formats.oldJson:
      return readEntries(parseJson(payload), path)
    case formats.senmlCbor:
      return readCborRecords(payload, path)
    case formats.cbor: {
      const value = decodeCbor(payload)
      const plain = value === undefined ? undefined : toJsonValue(value)
      return plain === undefined ? undefined : [{ path, value: plain }]
    }
    case formats.opaque:
      return [
        {
          path,
          value: type === 'Opaque' || type === undefined ? payload.toString('base64') : decodeValue(payload, type),
        },
      ]
    case formats.text:
    case formats.oldText:
      return [{ path, value: parseValue(payload.toString('utf8'), type) }]
    default:
      return [{ path, value: decodeValue(payload, undefined) }]
  }
}

function parseJson(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString('utf8'))
  } catch {
    // Not JSON: the caller reports it.
    return undefined
  }
}

type Fields = Readonly<Record<string, unknown>>

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** SenML: `[{bn, n, v, vs, vb, vd, vlo}]`. */
function readRecords(pack: unknown, path: ObjectPath): readonly ResourceValue[] | undefined {
  if (!Array.isArray(pack)) return undefined
  let base = ''
  const values: ResourceValue[] = []
  for (const record of pack as readonly unknown[]) {
    if (!isFields(record)) return undefined
    if (typeof record['bn'] === 'string') base = record['bn']
    const name = `${base}${typeof record['n'] === 'string' ? record['n'] : ''}`
    const at = resolvePath(name, path)
    const value = findFirstScalar(record['v'], record['vs'], record['vb'], record['vlo'], toBase64(record['vd']))
    if (at === undefined) return undefined
    if (value !== undefined) values.push({ path: at, value })
  }
  return values
}

/** Returns the entries of the JSON of LwM2M 1.0: `{bn, e: [{n, v, sv, bv, ov}]}`. */
function readEntries(whole: unknown, path: ObjectPath): readonly ResourceValue[] | undefined {
  if (!isFields(whole) || !Array.isArray(whole['e'])) return undefined
  const base = typeof whole['bn'] === 'string' ? whole['bn'] : `/${path.join('/')}/`
  const values: ResourceValue[] = []
  for (const entry of whole['e'] as readonly unknown[]) {
    if (!isFields(entry)) return undefined
    const name = typeof entry['n'] === 'string' ? entry['n'] : ''
    const joined = `${base}${base.endsWith('/') || name.startsWith('/') || name === '' ? '' : '/'}${name}`
    const at = resolvePath(joined, path)
    const value = findFirstScalar(entry['v'], entry['sv'], entry['bv'], entry['ov'])
    if (at === undefined) return undefined
    if (value !== undefined) values.push({ path: at, value })
  }
  return values
}

/** Labels of SenML in CBOR [RFC 8428 table 4]. */
const labels = new Map<CborValue, string>([
  [-2, 'bn'],
  [0, 'n'],
  [2, 'v'],
  [3, 'vs'],
  [4, 'vb'],
  [8, 'vd'],
])

function readCborRecords(payload: Buffer, path: ObjectPath): readonly ResourceValue[] | undefined {
  const pack = decodeCbor(payload)
  if (!Array.isArray(pack)) return undefined
  const records = pack.map((record) => {
    if (!(record instanceof Map)) return undefined
    const named: Record<string, unknown> = {}
    for (const [label, value] of record) {
      const name = labels.get(label) ?? (typeof label === 'string' ? label : '')
      named[name] = Buffer.isBuffer(value) ? value.toString('base64') : (toJsonValue(value) ?? null)
    }
    return named
  })
  return readRecords(records, path)
}

function toJsonValue(value: CborValue): JsonValue | undefined {
  if (typeof value === 'number') return toJsonNumber(value)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'string' || typeof value === 'boolean') return value
  return Buffer.isBuffer(value) ? value.toString('base64') : undefined
}

function findFirstScalar(...values: readonly unknown[]): JsonValue | undefined {
  return values.find(
    (value): value is JsonValue => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean',
  )
}

/** SenML has base64url without padding. */
function toBase64(text: unknown): string | undefined {
  return typeof text === 'string' ? Buffer.from(text, 'base64url').toString('base64') : undefined
}

function resolvePath(name: string, path: ObjectPath): ObjectPath | undefined {
  if (name === '') return path
  return parsePath(name.startsWith('/') ? name : `/${name}`)
}
