// The audit log entry of a request that changes something: caller, operation, address, result. Secrets are removed by
// the names of their keys, and long values are truncated.

import { mask, maskUrlSecrets } from '../config/index.ts'
import type { Caller, Endpoint } from '../contract/index.ts'
import { ApiError } from './http/api-error.ts'

export interface AuditEntry {
  /** Wall clock. */
  readonly atMs: number
  /** Account, application ID, subject of a token, or `local` over the socket. */
  readonly name: string
  readonly by: string
  readonly role: string
  /** Namespace of the request; null: the whole broker. */
  readonly namespace: string | null
  /** '' over the socket. */
  readonly address: string
  readonly via: 'v4' | 'v5' | 'ctl' | 'signal' | 'file'
  /** Name in the contract: `delete_user`. */
  readonly operation: string
  readonly method: string
  readonly path: string
  /** The request, shortened and without secrets. */
  readonly request: unknown
  /** HTTP status; 0: there was none. */
  readonly status: number
  /** Result code of the response. */
  readonly code: number
  readonly outcome: 'done' | 'refused' | 'failed'
  /** Why it failed. */
  readonly message: string
  readonly tookMs: number
}

export interface AuditedRequest {
  /** Name of the operation. */
  readonly name: string
  readonly endpoint: Endpoint
  readonly caller: Caller
  readonly namespace: string | undefined
  readonly url: string
  /** The body as received. */
  readonly body: unknown
  /** Fields that the handler has added. */
  readonly details: Readonly<Record<string, string>>
  readonly atMs: number
}

/** Returns whether a request with this result is logged. */
export function isAudited({ endpoint: { audit, method, access } }: AuditedRequest, result: unknown): boolean {
  if (audit !== undefined) return audit === 'always' || (audit === 'when-done' && !(result instanceof ApiError))
  return method !== 'GET' && access !== 'open' && access !== 'publish'
}

/** `result`: returned or thrown by the handler. */
export function toAuditEntry(request: AuditedRequest, result: unknown): AuditEntry {
  const { name, endpoint, caller, namespace = null, url, atMs } = request
  const sent = readSentFields(request)
  // A login has no authenticated caller.
  const { callerIsNamedIn } = endpoint
  const named =
    callerIsNamedIn === undefined || caller.by !== 'nobody' ? undefined : { body: sent, reply: result }[callerIsNamedIn]
  const who =
    named !== undefined
      ? { name: shortenText(findUserName(named)), by: 'account' }
      : { name: caller.name, by: caller.by }
  return {
    atMs,
    ...who,
    role: caller.role,
    namespace,
    address: caller.address,
    via: caller.by === 'socket' ? 'ctl' : (endpoint.version ?? 'v4'),
    operation: name,
    method: endpoint.method,
    path: shortenText(url.split('?')[0] ?? ''),
    request: addDetails(maskSecrets(sent), request.details),
    ...toAuditOutcome(result),
    tookMs: Date.now() - atMs,
  }
}

function addDetails(sent: unknown, details: AuditedRequest['details']): unknown {
  if (Object.keys(details).length === 0) return sent
  const fields = typeof sent === 'object' && sent !== null ? sent : {}
  const added = Object.entries(details).map(([key, value]) => [key, shortenText(value)])
  return { ...fields, ...(Object.fromEntries(added) as object) }
}

const successStatus = 200
const internalErrorStatus = 500

function toAuditOutcome(result: unknown): Pick<AuditEntry, 'status' | 'code' | 'outcome' | 'message'> {
  if (result instanceof ApiError) {
    const { status, code, message } = result
    const outcome = status >= internalErrorStatus ? 'failed' : 'refused'
    return { status, code, outcome, message: shortenText(maskUrlSecrets(message)) }
  }
  if (result instanceof Error)
    return { status: internalErrorStatus, code: 102, outcome: 'failed', message: 'see the log' }
  return { status: successStatus, code: 0, outcome: 'done', message: '' }
}

/** Text bodies are not logged: a whole configuration contains secrets without keys of their own. */
function readSentFields({ endpoint: { body: kind }, body }: AuditedRequest): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return null
  if (typeof kind !== 'object' || body.length > maxReadBytes) return { bytes: body.length }
  try {
    return JSON.parse(body.toString())
  } catch {
    return { bytes: body.length }
  }
}

function findUserName(sent: unknown): string {
  const { username } = (sent ?? {}) as { readonly username?: unknown }
  return typeof username === 'string' ? username : ''
}

const maxReadBytes = 65_536
const maxTextLength = 256
const maxEntries = 20
const maxDepth = 4
const secretKey =
  /pass(word|wd|phrase)?|pwd|secret|token|psk|salt|hash|credential|authorization|cookie|private|(^|[._-])keys?$|cert|^value$|^headers$|payload/i

function maskSecrets(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return shortenText(maskUrlSecrets(value))
  if (typeof value !== 'object' || value === null) return value
  if (depth >= maxDepth) return '...'
  if (Array.isArray(value)) {
    const kept = value.slice(0, maxEntries).map((item) => maskSecrets(item, depth + 1))
    return value.length > maxEntries ? [...kept, `... ${value.length - maxEntries} more`] : kept
  }
  const pairs = Object.entries(value).slice(0, maxEntries)
  return Object.fromEntries(
    pairs.map(([key, inner]) => [shortenText(key), isSecret(key, inner) ? mask : maskSecrets(inner, depth + 1)]),
  )
}

/** A flag or a number is not a secret, such as `disable_password: true`. */
function isSecret(key: string, value: unknown): boolean {
  return secretKey.test(key) && typeof value !== 'boolean' && value !== null
}

function shortenText(text: string): string {
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength).toWellFormed()}...` : text
}
