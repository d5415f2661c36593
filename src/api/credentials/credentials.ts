// Credentials of clients, in lists by user name, client ID, SCRAM user and pre-shared key.

import type { credentialEndpoints } from './endpoints.ts'
import { namespaceKey, type ResultCodeName } from '../../contract/index.ts'
import {
  type Handlers,
  toPageMeta,
  type PageMeta,
  parsePageWanted,
  type ApiError,
  refuse,
  quoteShortened,
} from '../../management/index.ts'
import type {
  CredentialList,
  CredentialLists,
  NewCredential,
  NotStored,
  ScramName,
  StoredCredential,
} from './credential-lists.ts'

/** Keys of a list. */
export interface ListSpelling {
  readonly list: CredentialList
  /** Key of the name, in bodies, paths and responses. */
  readonly id: 'username' | 'clientid' | 'identity'
  /** Key of the secret. */
  readonly secret: 'password' | 'key'
}

export interface EntryFault {
  readonly code: ResultCodeName
  readonly message: string
  /** The word for it in the response to a batch. */
  readonly word: 'login' | 'password' | 'badarg'
}

/** The longest text of MQTT. */
const maxTextBytes = 65_535
/** RFC 4279, section 5.3, and the limit of OpenSSL. */
const maxIdentityBytes = 128
const keyHexDigits = { min: 16, max: 512 }

const scramNames: readonly string[] = ['SCRAM-SHA-256', 'SCRAM-SHA-512']

/** Returns an entry with name and secret, or its first error. */
export function readEntry(item: unknown, spelling: ListSpelling): NewCredential | EntryFault {
  const id = readText(item, spelling.id, 'login')
  if (typeof id !== 'string') return id
  // If it were ignored, the credential would be stored in another namespace than requested.
  if ((readValue(item, namespaceKey) ?? null) !== null) {
    const message = `${namespaceKey} is not read in the body: give it in the query, ?${namespaceKey}=NAME`
    return { code: 'invalidParameter', message, word: 'badarg' }
  }
  const fault =
    spelling.list === 'scram' || spelling.list === 'psk' ? findNameProblem(id, spelling) : findTextProblem(id, spelling)
  return fault ?? readSecret(item, id, spelling)
}

/** Parses PUT for the entry of this name; a name in the body is ignored. */
export function readSecret(item: unknown, id: string, spelling: ListSpelling): NewCredential | EntryFault {
  const { list, secret: key } = spelling
  const secret = readText(item, key, 'password')
  if (typeof secret !== 'string') return secret
  const unknown = findUnknownKey(item as object, spelling)
  if (unknown !== undefined) return unknown
  const problem = list === 'psk' ? findKeyProblem(secret) : findPasswordProblem(secret, list)
  if (problem !== undefined) return { code: 'invalidParameter', message: `${key} ${problem}`, word: 'password' }
  const algorithm = list === 'scram' ? readValue(item, 'algorithm') : undefined
  if (algorithm !== undefined && (typeof algorithm !== 'string' || !scramNames.includes(algorithm))) {
    return { code: 'invalidParameter', message: `algorithm is one of ${scramNames.join(', ')}`, word: 'badarg' }
  }
  return { id, secret, algorithm: algorithm as ScramName | undefined }
}

/**
 * A key that is ignored, such as `is_superuser` or `Algorithm`, would store another credential than requested. `null`
 * has no effect. `created_at` is in the replies, which clients send back.
 */
function findUnknownKey(item: object, { list, id, secret }: ListSpelling): EntryFault | undefined {
  const known = [id, secret, ...(list === 'scram' ? ['algorithm'] : [])]
  const isKnown = (key: string): boolean => known.includes(key) || key === 'created_at' || key === namespaceKey
  const found = Object.entries(item).find(([key, value]) => value !== null && !isKnown(key))
  if (found === undefined) return undefined
  const message = `${quoteShortened(found[0])} in the body is unknown here; use ${known.join(', ')}`
  return { code: 'invalidParameter', message, word: 'badarg' }
}

/** For a single entry. An empty name or password is not a failed login of the caller, so 104 has status 400 here. */
export function refuseEntry({ code, message }: EntryFault): ApiError {
  return refuse(code, message, 400)
}

export function isEntry(read: NewCredential | EntryFault): read is NewCredential {
  return 'id' in read
}

function readText(item: unknown, key: string, word: EntryFault['word']): string | EntryFault {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    return { code: 'notJson', message: 'the body is no JSON object', word: 'badarg' }
  }
  const text = readValue(item, key)
  if (text === undefined) return { code: 'missingParameter', message: `${key} is missing in the body`, word }
  if (typeof text !== 'string') return { code: 'invalidParameter', message: `${key} must be text`, word }
  if (text === '') return { code: 'emptyCredentials', message: `${key} is empty`, word }
  return text
}

function readValue(item: unknown, key: string): unknown {
  return typeof item === 'object' && item !== null && Object.hasOwn(item, key)
    ? (item as Record<string, unknown>)[key]
    : undefined
}

/** [MQTT-1.5.3-1, -2] A client could never send such a text. */
function findTextProblem(id: string, { id: key }: ListSpelling): EntryFault | undefined {
  if (Buffer.byteLength(id) <= maxTextBytes && id.isWellFormed() && !id.includes('\0')) return undefined
  const message = `${key} is longer than ${maxTextBytes} bytes, or contains U+0000 or an unpaired surrogate`
  return { code: 'invalidParameter', message, word: 'login' }
}

const createInvalidFault = (message: string): EntryFault => ({ code: 'invalidParameter', message, word: 'login' })

/** Limits of names in other standards. */
function findNameProblem(id: string, spelling: ListSpelling): EntryFault | undefined {
  if (/\p{Cc}/u.test(id)) return createInvalidFault(`${spelling.id} contains control characters`)
  // SCRAM ignores invisible characters: some names would be empty.
  if (/^\p{Default_Ignorable_Code_Point}*$/u.test(id))
    return createInvalidFault(`${spelling.id} has no visible character`)
  if (spelling.list === 'psk' && Buffer.byteLength(id) > maxIdentityBytes) {
    return createInvalidFault(`${spelling.id} is longer than ${maxIdentityBytes} bytes`)
  }
  return findTextProblem(id, spelling)
}

function findKeyProblem(key: string): string | undefined {
  const { min, max } = keyHexDigits
  const isKey = key.length >= min && key.length <= max && /^(?:[0-9a-f]{2})+$/i.test(key)
  return isKey ? undefined : `must be ${min / 2} to ${max / 2} bytes in hexadecimal`
}

function findPasswordProblem(password: string, list: CredentialList): string | undefined {
  if (Buffer.byteLength(password) > maxTextBytes) return `is longer than ${maxTextBytes} bytes`
  if (!password.isWellFormed()) return 'is not well-formed Unicode'
  return list === 'scram' && /\p{Cc}/u.test(password) ? 'contains control characters' : undefined
}

/** Each costs some milliseconds of CPU time. */
const maxScramBatch = 1_000

type CredentialReply = Readonly<Record<string, unknown>>
type BatchReply = { code: 0; data?: Record<string, string> }

/** The five operations of each list; `show` converts an entry. */
function createListHandlers<Item>(
  credentials: CredentialLists,
  spelling: ListSpelling,
  show: (stored: StoredCredential) => Item,
) {
  const { list, id: key } = spelling
  const refuseUnknownEntry = (id: string): ApiError =>
    refuse('userNotFound', `there is no ${key} ${JSON.stringify(id)} in this list`)
  const readId = (params: CredentialReply): string => String(params[key])
  return {
    list: async ({ query }: { query: CredentialReply }): Promise<{ code: 0; data: Item[]; meta: PageMeta }> => {
      const page = parsePageWanted(query)
      const readQueryText = (name: string): string | undefined =>
        typeof query[name] === 'string' ? query[name] : undefined
      const found = await credentials.list(list, { id: readQueryText(key), like: readQueryText(`_like_${key}`), page })
      return { code: 0, data: found.items.map(show), meta: toPageMeta(page, found) }
    },
    lookup: ({ params }: { params: CredentialReply }): { code: 0; data: Item } | ApiError => {
      const stored = credentials.find(list, readId(params))
      return stored === undefined ? refuseUnknownEntry(readId(params)) : { code: 0, data: show(stored) }
    },
    create: async ({ body }: { body: unknown }): Promise<BatchReply | ApiError> =>
      Array.isArray(body) ? createEach(credentials, spelling, body) : createOne(credentials, spelling, body),
    update: async ({ params, body }: { params: CredentialReply; body: unknown }): Promise<{ code: 0 } | ApiError> => {
      const entry = readSecret(body, readId(params), spelling)
      if (!isEntry(entry)) return refuseEntry(entry)
      const outcome = await credentials.update(list, entry)
      if (outcome === 'missing') return refuseUnknownEntry(entry.id)
      return outcome === 'updated' ? { code: 0 } : toNotStoredError(outcome)
    },
    delete: async ({ params }: { params: CredentialReply }): Promise<{ code: 0 } | ApiError> => {
      const outcome = await credentials.delete(list, readId(params))
      if (outcome === 'missing') return refuseUnknownEntry(readId(params))
      return outcome === 'deleted' ? { code: 0 } : toNotStoredError(outcome)
    },
  }
}

async function createOne(
  credentials: CredentialLists,
  spelling: ListSpelling,
  item: unknown,
): Promise<BatchReply | ApiError> {
  const entry = readEntry(item, spelling)
  if (!isEntry(entry)) return refuseEntry(entry)
  const outcome = await credentials.create(spelling.list, [entry])
  if ('notStored' in outcome) return toNotStoredError(outcome)
  return outcome[0] === 'created' ? { code: 0 } : refuse('userExists', 'existed')
}

async function createEach(
  credentials: CredentialLists,
  spelling: ListSpelling,
  items: readonly unknown[],
): Promise<BatchReply | ApiError> {
  if (spelling.list === 'scram' && items.length > maxScramBatch) {
    return refuse(
      'invalidParameter',
      `too many SCRAM users in one request; maximum ${maxScramBatch}, because their hashes are slow`,
    )
  }
  const entries: NewCredential[] = []
  const read = items.map((item) => readEntry(item, spelling))
  for (const entry of read) if (isEntry(entry)) entries.push(entry)
  const outcomes = await credentials.create(spelling.list, entries)
  if ('notStored' in outcomes) return toNotStoredError(outcomes)
  let next = 0
  const fates = read.map((entry, index): [string, string] => {
    if (isEntry(entry)) return [entry.id, outcomes[next++] === 'created' ? 'ok' : '{error,existed}']
    return [findName(items[index], spelling) ?? String(index), `{error,${entry.word}}`]
  })
  // Names are external input: with entries, `__proto__` is an ordinary name.
  return { code: 0, data: Object.fromEntries(fates) }
}

function findName(item: unknown, { id }: ListSpelling): string | undefined {
  const name = typeof item === 'object' && item !== null ? (item as CredentialReply)[id] : undefined
  return typeof name === 'string' && name !== '' ? name : undefined
}

/** The disk failed, not the request. */
export function toNotStoredError({ notStored }: NotStored): ApiError {
  return refuse('unknownError', notStored)
}

export function createCredentialHandlers(credentials: CredentialLists): Handlers<typeof credentialEndpoints> {
  const byUsername = createListHandlers(
    credentials,
    { list: 'username', id: 'username', secret: 'password' },
    ({ id, createdAtMs }) => ({ username: id, created_at: Math.floor(createdAtMs) }),
  )
  const byClientId = createListHandlers(
    credentials,
    { list: 'clientid', id: 'clientid', secret: 'password' },
    ({ id, createdAtMs }) => ({ clientid: id, created_at: Math.floor(createdAtMs) }),
  )
  const scram = createListHandlers(credentials, { list: 'scram', id: 'username', secret: 'password' }, toScramResponse)
  const psk = createListHandlers(credentials, { list: 'psk', id: 'identity', secret: 'key' }, ({ id }) => ({
    identity: id,
  }))
  return {
    list_auth_username: byUsername.list,
    lookup_auth_username: byUsername.lookup,
    create_auth_username: byUsername.create,
    update_auth_username: byUsername.update,
    delete_auth_username: byUsername.delete,
    list_auth_clientid: byClientId.list,
    lookup_auth_clientid: byClientId.lookup,
    create_auth_clientid: byClientId.create,
    update_auth_clientid: byClientId.update,
    delete_auth_clientid: byClientId.delete,
    list_auth_scram: scram.list,
    lookup_auth_scram: scram.lookup,
    create_auth_scram: scram.create,
    update_auth_scram: scram.update,
    delete_auth_scram: scram.delete,
    list_auth_psk: psk.list,
    lookup_auth_psk: psk.lookup,
    create_auth_psk: psk.create,
    update_auth_psk: psk.update,
    delete_auth_psk: psk.delete,
  }
}

function toScramResponse({ id, algorithm, createdAtMs }: StoredCredential): {
  username: string
  algorithm: ScramName
  created_at: number
} {
  return { username: id, algorithm: algorithm ?? 'SCRAM-SHA-256', created_at: Math.floor(createdAtMs) }
}
