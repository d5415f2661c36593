// Parses an entry to create. An error has a code for a single entry and a word for one of a batch.

import { namespaceKey, type ResultCodeName } from '../../../contract/index.ts'
import type { CredentialList, NewCredential, ScramName } from '../../operations/credentials.ts'
import { type ApiError, refuse, shortened } from '../../http/api-error.ts'

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
  const id = textOf(item, spelling.id, 'login')
  if (typeof id !== 'string') return id
  // If it were ignored, the credential would be stored in another namespace than requested.
  if ((valueOf(item, namespaceKey) ?? null) !== null) {
    const message = `${namespaceKey} is not read in the body: give it in the query, ?${namespaceKey}=NAME`
    return { code: 'invalidParameter', message, word: 'badarg' }
  }
  const fault =
    spelling.list === 'scram' || spelling.list === 'psk' ? nameProblem(id, spelling) : textProblem(id, spelling)
  return fault ?? readSecret(item, id, spelling)
}

/** Parses PUT for the entry of this name; a name in the body is ignored. */
export function readSecret(item: unknown, id: string, spelling: ListSpelling): NewCredential | EntryFault {
  const { list, secret: key } = spelling
  const secret = textOf(item, key, 'password')
  if (typeof secret !== 'string') return secret
  const unknown = unknownKeyIn(item as object, spelling)
  if (unknown !== undefined) return unknown
  const problem = list === 'psk' ? problemOfKey(secret) : problemOfPassword(secret, list)
  if (problem !== undefined) return { code: 'invalidParameter', message: `${key} ${problem}`, word: 'password' }
  const algorithm = list === 'scram' ? valueOf(item, 'algorithm') : undefined
  if (algorithm !== undefined && (typeof algorithm !== 'string' || !scramNames.includes(algorithm))) {
    return { code: 'invalidParameter', message: `algorithm is one of ${scramNames.join(', ')}`, word: 'badarg' }
  }
  return { id, secret, algorithm: algorithm as ScramName | undefined }
}

/**
 * A key that is ignored, such as `is_superuser` or `Algorithm`, would store another credential than requested. `null`
 * has no effect. `created_at` is in the replies, which clients send back.
 */
function unknownKeyIn(item: object, { list, id, secret }: ListSpelling): EntryFault | undefined {
  const known = [id, secret, ...(list === 'scram' ? ['algorithm'] : [])]
  const isKnown = (key: string): boolean => known.includes(key) || key === 'created_at' || key === namespaceKey
  const found = Object.entries(item).find(([key, value]) => value !== null && !isKnown(key))
  if (found === undefined) return undefined
  const message = `${shortened(found[0])} in the body is unknown here; use ${known.join(', ')}`
  return { code: 'invalidParameter', message, word: 'badarg' }
}

/** For a single entry. An empty name or password is not a failed login of the caller, so 104 has status 400 here. */
export function refuseEntry({ code, message }: EntryFault): ApiError {
  return refuse(code, message, 400)
}

export function isEntry(read: NewCredential | EntryFault): read is NewCredential {
  return 'id' in read
}

function textOf(item: unknown, key: string, word: EntryFault['word']): string | EntryFault {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    return { code: 'notJson', message: 'the body is no JSON object', word: 'badarg' }
  }
  const text = valueOf(item, key)
  if (text === undefined) return { code: 'missingParameter', message: `${key} is missing in the body`, word }
  if (typeof text !== 'string') return { code: 'invalidParameter', message: `${key} must be text`, word }
  if (text === '') return { code: 'emptyCredentials', message: `${key} is empty`, word }
  return text
}

function valueOf(item: unknown, key: string): unknown {
  return typeof item === 'object' && item !== null && Object.hasOwn(item, key)
    ? (item as Record<string, unknown>)[key]
    : undefined
}

/** [MQTT-1.5.3-1, -2] A client could never send such a text. */
function textProblem(id: string, { id: key }: ListSpelling): EntryFault | undefined {
  if (Buffer.byteLength(id) <= maxTextBytes && id.isWellFormed() && !id.includes('\0')) return undefined
  const message = `${key} is longer than ${maxTextBytes} bytes, or contains U+0000 or an unpaired surrogate`
  return { code: 'invalidParameter', message, word: 'login' }
}

const invalid = (message: string): EntryFault => ({ code: 'invalidParameter', message, word: 'login' })

/** Limits of names in other standards. */
function nameProblem(id: string, spelling: ListSpelling): EntryFault | undefined {
  if (/\p{Cc}/u.test(id)) return invalid(`${spelling.id} contains control characters`)
  // SCRAM ignores invisible characters: some names would be empty.
  if (/^\p{Default_Ignorable_Code_Point}*$/u.test(id)) return invalid(`${spelling.id} has no visible character`)
  if (spelling.list === 'psk' && Buffer.byteLength(id) > maxIdentityBytes) {
    return invalid(`${spelling.id} is longer than ${maxIdentityBytes} bytes`)
  }
  return textProblem(id, spelling)
}

function problemOfKey(key: string): string | undefined {
  const { min, max } = keyHexDigits
  const isKey = key.length >= min && key.length <= max && /^(?:[0-9a-f]{2})+$/i.test(key)
  return isKey ? undefined : `must be ${min / 2} to ${max / 2} bytes in hexadecimal`
}

function problemOfPassword(password: string, list: CredentialList): string | undefined {
  if (Buffer.byteLength(password) > maxTextBytes) return `is longer than ${maxTextBytes} bytes`
  if (!password.isWellFormed()) return 'is not well-formed Unicode'
  return list === 'scram' && /\p{Cc}/u.test(password) ? 'contains control characters' : undefined
}
