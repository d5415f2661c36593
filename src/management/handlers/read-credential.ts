// One entry of those that are to be created: what of it cannot be, in a code for one that comes alone and in a word for
// one of a batch.

import type { ResultCodeName } from '../../contract/index.ts'
import type { CredentialList, NewCredential, ScramName } from '../operations/credentials.ts'
import { type ApiError, refuse } from '../api-error.ts'

/** How a list is spelled. */
export interface ListSpelling {
  readonly list: CredentialList
  /** The key of the name, in bodies, paths and answers. */
  readonly id: 'username' | 'clientid' | 'identity'
  /** The key of the secret. */
  readonly secret: 'password' | 'key'
}

export interface EntryFault {
  readonly code: ResultCodeName
  readonly message: string
  /** The word for it in the answer to a batch. */
  readonly word: 'login' | 'password' | 'badarg'
}

/** The longest text of MQTT. */
const maxTextBytes = 65_535
/** RFC 4279, section 5.3, and what OpenSSL takes. */
const maxIdentityBytes = 128
const keyHexDigits = { min: 16, max: 512 }

const scramNames: readonly string[] = ['SCRAM-SHA-256', 'SCRAM-SHA-512']

/** An entry with name and secret, or the first thing that is wrong with it. */
export function readEntry(item: unknown, spelling: ListSpelling): NewCredential | EntryFault {
  const id = textOf(item, spelling.id, 'login')
  if (typeof id !== 'string') return id
  const fault =
    spelling.list === 'scram' || spelling.list === 'psk' ? nameProblem(id, spelling) : textProblem(id, spelling)
  return fault ?? readSecret(item, id, spelling)
}

/** What PUT brings for the entry of this name; a name in the body counts for nothing. */
export function readSecret(item: unknown, id: string, { list, secret: key }: ListSpelling): NewCredential | EntryFault {
  const secret = textOf(item, key, 'password')
  if (typeof secret !== 'string') return secret
  const problem = list === 'psk' ? problemOfKey(secret) : problemOfPassword(secret, list)
  if (problem !== undefined) return { code: 'invalidParameter', message: `${key} ${problem}`, word: 'password' }
  const algorithm = list === 'scram' ? valueOf(item, 'algorithm') : undefined
  if (algorithm !== undefined && (typeof algorithm !== 'string' || !scramNames.includes(algorithm))) {
    return { code: 'invalidParameter', message: `algorithm is one of ${scramNames.join(', ')}`, word: 'badarg' }
  }
  return { id, secret, algorithm: algorithm as ScramName | undefined }
}

/** Of one that came alone. An empty name or password is no sign-in of the caller's: 104 stands with 400 here. */
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

/** [MQTT-1.5.3-1, -2] What is no text of MQTT could never be said by a client. */
function textProblem(id: string, { id: key }: ListSpelling): EntryFault | undefined {
  if (Buffer.byteLength(id) <= maxTextBytes && id.isWellFormed() && !id.includes('\0')) return undefined
  const message = `${key} is longer than ${maxTextBytes} bytes, or holds U+0000 or half a character`
  return { code: 'invalidParameter', message, word: 'login' }
}

const invalid = (message: string): EntryFault => ({ code: 'invalidParameter', message, word: 'login' })

/** Names that other standards than MQTT bound further. */
function nameProblem(id: string, spelling: ListSpelling): EntryFault | undefined {
  if (/\p{Cc}/u.test(id)) return invalid(`${spelling.id} holds control characters`)
  // SCRAM leaves invisible characters out: of some names nothing remains.
  if (/^\p{Default_Ignorable_Code_Point}*$/u.test(id)) return invalid(`${spelling.id} holds nothing that can be seen`)
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
  if (!password.isWellFormed()) return 'holds half a character'
  return list === 'scram' && /\p{Cc}/u.test(password) ? 'holds control characters' : undefined
}
