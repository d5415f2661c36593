// Random API requests from the contract: most are almost valid, so that they pass the first checks; some are arbitrary.

import { type Endpoint, listUrls } from '../../../src/contract/index.ts'
import { endpoints } from '../../../src/api/endpoints.ts'
import type { Random } from '../../protocol/fuzz/random.ts'
import { anyString, nastyString } from './strings.ts'
import { type Archive, makeUpload } from './uploads.ts'
import { junk, mutated, valueFor } from './values.ts'

/** Values that requests use. */
export interface Surroundings {
  /** The header of the administrator. */
  readonly authorization: string
  readonly archive: Archive
}

export interface MadeRequest {
  readonly method: string
  /** The path with the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | undefined
  /** The endpoint, if path and method are those of one. */
  readonly name: string | undefined
}

/** All endpoints except the live stream, which has no end, and the drain, which disconnects the healthy client. */
const omitted: ReadonlySet<string> = new Set(['watch_messages', 'start_drain'])
const all = Object.entries<Endpoint>(endpoints).filter(([name]) => !omitted.has(name))

/** Endpoints that stop the broker. */
const forbidden = /^(stop|restart)$/i

export function makeRequest(random: Random, surroundings: Surroundings): MadeRequest {
  const { authorization, archive } = surroundings
  const [name, endpoint] = random.pick(all)
  const isStrayed = random.oneIn(12)
  const path = isStrayed ? strayedPath(random, endpoint, archive) : pathFor(random, endpoint, archive)
  const method = random.oneIn(20) ? random.pick(methods) : endpoint.method
  const upload = endpoint.body === 'upload' && !random.oneIn(6) ? makeUpload(random, archive) : undefined
  const body = upload?.body ?? bodyFor(random, endpoint, archive)
  const headers = headersFor(random, authorization)
  if (upload !== undefined) headers['content-type'] = upload.contentType
  // If the last parameter is empty, the path is that of the list.
  const isOfList = /:\w+$/.test(endpoint.path) && /\/(\?|$)/.test(path)
  const isOfEndpoint = !isStrayed && method === endpoint.method && !isOfList
  return { method, path, headers, body, name: isOfEndpoint ? name : undefined }
}

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']

function pathFor(random: Random, endpoint: Endpoint, archive: Archive): string {
  const url = random.pick(listUrls(endpoint))
  const filled = url.replaceAll(/:(\w+)/g, (_whole, key: string) => paramFor(random, endpoint, key, archive))
  return `${filled}${random.oneIn(10) ? '/' : ''}${queryFor(random, endpoint)}`
}

function paramFor(random: Random, { params }: Endpoint, key: string, { filename }: Archive): string {
  if (key === 'filename' && random.oneIn(2)) return encoded(filename, random)
  const schema = params?.properties[key]
  const made = schema === undefined || random.oneIn(2) ? anyString(random) : String(valueFor(schema, random))
  return encoded(forbidden.test(made) ? 'neither' : made, random)
}

function queryFor(random: Random, { query }: Endpoint): string {
  const pairs: string[] = []
  for (const [key, schema] of Object.entries(query?.properties ?? {})) {
    if (!random.oneIn(3)) continue
    const value = random.oneIn(4) ? nastyString(random) : String(valueFor(schema, random))
    pairs.push(`${encoded(key, random)}=${encoded(value, random)}`)
  }
  if (random.oneIn(15)) pairs.push(`${encoded(nastyString(random), random)}=${encoded(nastyString(random), random)}`)
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Encodes as a browser does, or only the characters that HTTP forbids in a path. */
function encoded(text: string, random: Random): string {
  const whole = text.toWellFormed()
  if (!random.oneIn(8)) return encodeURIComponent(whole)
  return whole.replaceAll(/[^\u0021-\u007e]/gu, (letter) => encodeURIComponent(letter))
}

function strayedPath(random: Random, endpoint: Endpoint, archive: Archive): string {
  const path = pathFor(random, endpoint, archive)
  switch (random.below(7)) {
    case 0:
      return path.replaceAll('/', '//')
    case 1:
      return path.toUpperCase()
    case 2:
      return path.replaceAll('/', '%2f')
    case 3:
      return `${path}/${encoded(anyString(random), random)}`
    case 4:
      return `/${'a/'.repeat(random.below(2_000))}`
    case 5:
      return `/api/v4/../../${path}`
    default:
      return `/${encoded(nastyString(random), random)}`
  }
}

function bodyFor(random: Random, { method, body }: Endpoint, archive: Archive): string | Buffer | undefined {
  if (body === undefined) return method === 'GET' || !random.oneIn(5) ? undefined : wrongBody(random)
  if (random.oneIn(10)) return wrongBody(random)
  if (body === 'upload') return wrongBody(random)
  if (body === 'text') return random.oneIn(2) ? nastyString(random) : `${nastyString(random)} = ${nastyString(random)}`
  const right = withFile(valueFor(body, random), random, archive)
  return JSON.stringify(random.oneIn(3) ? mutated(right, random) : right)
}

const keysOfFiles = ['filename', 'first', 'second']

/** Usually sets file names to that of an existing archive, because a random name never refers to a file. */
function withFile(body: unknown, random: Random, { filename }: Archive): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || random.oneIn(4)) return body
  const pairs = Object.entries(body).map(([key, value]) => [key, keysOfFiles.includes(key) ? filename : value] as const)
  return Object.fromEntries(pairs)
}

function wrongBody(random: Random): string | Buffer | undefined {
  switch (random.below(7)) {
    case 0:
      return undefined
    case 1:
      return nastyString(random)
    case 2:
      return JSON.stringify(junk(random)).slice(0, random.below(40))
    case 3:
      return Buffer.from(Array.from({ length: random.below(200) }, () => random.below(256)))
    case 4:
      return '['.repeat(1 + random.below(50_000))
    case 5:
      return `{"a":${'{"a":'.repeat(random.below(20_000))}1`
    default:
      return 'x'.repeat(1_048_576 + random.below(1_000) - 500)
  }
}

function headersFor(random: Random, authorization: string): Record<string, string> {
  const headers: Record<string, string> = { authorization }
  if (random.oneIn(25)) headers['authorization'] = random.pick(wrongAuthorizations)
  if (random.oneIn(6)) headers['content-type'] = random.pick(contentTypes)
  if (random.oneIn(15))
    headers[random.pick(oddHeaders)] = random.pick(['', 'x', 'DELETE', '127.0.0.1', 'a'.repeat(4_000)])
  return headers
}

const wrongAuthorizations = [
  '',
  'Basic',
  'Basic ',
  'Basic !!!!',
  'Basic Og==',
  'Basic YTpi',
  'Bearer ',
  'Bearer a.b.c',
  'Bearer eyJhbGciOiJub25lIn0.eyJleHAiOjk5OTk5OTk5OTl9.',
  'Digest username="admin"',
  `Basic ${'QUFB'.repeat(3_000)}`,
]

const contentTypes = [
  'application/json',
  'application/json; charset=utf-16',
  'text/plain',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  'nonsense',
  'application/json; charset="',
]

const oddHeaders = [
  'x-http-method-override',
  'x-forwarded-for',
  'x-original-url',
  'origin',
  'accept',
  'accept-encoding',
  'if-none-match',
  'range',
  'cookie',
  'upgrade',
  'expect',
]
