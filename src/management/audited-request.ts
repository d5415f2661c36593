// What is noted of a request that changes something: who asked for what from where, and what came of it. Secrets are left
// out by the names of their keys, and whatever is long is cut.

import type { Caller, Endpoint } from '../contract/index.ts'
import type { AuditEntry } from './operations/audit.ts'
import { Refusal } from './api-error.ts'

export interface AuditedRequest {
  /** Of the operation. */
  readonly name: string
  readonly endpoint: Endpoint
  readonly caller: Caller
  readonly namespace: string | undefined
  readonly url: string
  /** As it came, where it was gathered. */
  readonly body: unknown
  readonly atMs: number
}

/** Whether a request is noted that came to this. */
export function isAudited({ endpoint: { audit, method, access } }: AuditedRequest, result: unknown): boolean {
  if (audit !== undefined) return audit === 'always' || (audit === 'when-done' && !(result instanceof Refusal))
  return method !== 'GET' && access !== 'open' && access !== 'publish'
}

/** `result` is what the handler gave, or what it threw. */
export function auditEntryOf(request: AuditedRequest, result: unknown): AuditEntry {
  const { name, endpoint, caller, namespace = null, url, atMs } = request
  const sent = sentIn(request)
  // Who logs in is nobody yet.
  const isLogin = caller.by === 'nobody' && name === 'login'
  const who = isLogin ? { name: shortened(nameIn(sent)), by: 'account' } : { name: caller.name, by: caller.by }
  return {
    atMs,
    ...who,
    role: caller.role,
    namespace,
    address: caller.address,
    via: caller.by === 'socket' ? 'ctl' : (endpoint.version ?? 'v4'),
    operation: name,
    method: endpoint.method,
    path: shortened(url.split('?')[0] ?? ''),
    request: withoutSecrets(sent),
    ...fateOf(result),
    tookMs: Date.now() - atMs,
  }
}

const successStatus = 200
const mistakeStatus = 500

function fateOf(result: unknown): Pick<AuditEntry, 'status' | 'code' | 'outcome' | 'message'> {
  if (result instanceof Refusal) {
    const { status, code, message } = result
    const outcome = status >= mistakeStatus ? 'failed' : 'refused'
    return { status, code, outcome, message: shortened(message) }
  }
  if (result instanceof Error) return { status: mistakeStatus, code: 102, outcome: 'failed', message: 'see the log' }
  return { status: successStatus, code: 0, outcome: 'done', message: '' }
}

/** Texts are not noted: a whole configuration is full of secrets that have no name of their own. */
function sentIn({ endpoint: { body: wanted }, body }: AuditedRequest): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return null
  if (typeof wanted !== 'object' || body.length > mostReadBytes) return { bytes: body.length }
  try {
    return JSON.parse(body.toString())
  } catch {
    return { bytes: body.length }
  }
}

function nameIn(sent: unknown): string {
  const { username } = (sent ?? {}) as { readonly username?: unknown }
  return typeof username === 'string' ? username : ''
}

const mostReadBytes = 65_536
const longestText = 256
const mostEntries = 20
const deepest = 4
const mask = '******'
const secretKey =
  /pass(word|wd|phrase)?|pwd|secret|token|psk|salt|hash|credential|authorization|cookie|private|(^|[._-])keys?$|cert|^value$|^headers$|payload/i

function withoutSecrets(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return shortened(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= deepest) return '...'
  if (Array.isArray(value)) {
    const kept = value.slice(0, mostEntries).map((item) => withoutSecrets(item, depth + 1))
    return value.length > mostEntries ? [...kept, `... ${value.length - mostEntries} more`] : kept
  }
  const pairs = Object.entries(value).slice(0, mostEntries)
  return Object.fromEntries(
    pairs.map(([key, inner]) => [shortened(key), isSecret(key, inner) ? mask : withoutSecrets(inner, depth + 1)]),
  )
}

/** A flag or a number says nothing; `disable_password: true` stays as it is. */
function isSecret(key: string, value: unknown): boolean {
  return secretKey.test(key) && typeof value !== 'boolean' && value !== null
}

function shortened(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText).toWellFormed()}...` : text
}
