// The stored record of a SCRAM user: sufficient to verify that a client knows the password, but not to log in as the client
// (RFC 5802, section 3).
//
//   password --PBKDF2(salt, iterations)--> salted --HMAC "Client Key"--> clientKey --H--> storedKey
//                                             '---HMAC "Server Key"--> serverKey

import { createHmac, hash, pbkdf2 as pbkdf2WithCallback, pbkdf2Sync, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import type { ScramRecord } from '../../records/index.ts'
import { prepareText } from './scram-text.ts'

const pbkdf2 = promisify(pbkdf2WithCallback)

export type ScramAlgorithm = ScramRecord['algorithm']

export const scramAlgorithms = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const

/** Names of the hash algorithms in Node.js. */
export const hashNames = { 'SCRAM-SHA-256': 'sha256', 'SCRAM-SHA-512': 'sha512' } as const
export const hashBytes = { 'SCRAM-SHA-256': 32, 'SCRAM-SHA-512': 64 } as const

export const scramSaltBytes = 16

export interface NewScramUser {
  readonly username: string
  readonly password: string
  readonly algorithm: ScramAlgorithm
  /** RFC 7677 requires at least 4,096. */
  readonly iterations: number
  readonly isSuperuser: boolean
  readonly createdAtMs: number
  /** Default: a new random salt. */
  readonly salt?: Uint8Array
}

/** Slow by design: some milliseconds per 10,000 iterations. Throws if a name or password is invalid. */
export function makeScramRecord(user: NewScramUser): ScramRecord {
  const { password, salt } = prepare(user)
  const { algorithm, iterations } = user
  return createScramRecord(
    user,
    salt,
    pbkdf2Sync(password, salt, iterations, hashBytes[algorithm], hashNames[algorithm]),
  )
}

/** Like `makeScramRecord`, on another thread. */
export async function makeScramRecordAsync(user: NewScramUser): Promise<ScramRecord> {
  const { password, salt } = prepare(user)
  const { algorithm, iterations } = user
  return createScramRecord(
    user,
    salt,
    await pbkdf2(password, salt, iterations, hashBytes[algorithm], hashNames[algorithm]),
  )
}

/** Returns the canonical form of a user name, independent of its spelling; '' for an invalid name. */
export function toScramName(username: string): string {
  return prepareText(username) ?? ''
}

function prepare(user: NewScramUser): { readonly password: string; readonly salt: Uint8Array } {
  const password = prepareText(user.password)
  if (password === undefined) throw new Error('a password contains control characters')
  return { password, salt: user.salt ?? randomBytes(scramSaltBytes) }
}

function createScramRecord(user: NewScramUser, salt: Uint8Array, salted: Buffer): ScramRecord {
  const { algorithm, iterations, isSuperuser, createdAtMs } = user
  const username = toScramName(user.username)
  if (username === '') throw new Error('a name is empty or contains control characters')
  const storedKey = hash(hashNames[algorithm], computeHmac(algorithm, salted, 'Client Key'), 'buffer')
  const serverKey = computeHmac(algorithm, salted, 'Server Key')
  return { kind: 'scram', username, algorithm, salt, iterations, storedKey, serverKey, isSuperuser, createdAtMs }
}

export function computeHmac(algorithm: ScramAlgorithm, key: Uint8Array, text: string): Buffer {
  return createHmac(hashNames[algorithm], key).update(text).digest()
}

/**
 * Returns the salt of an unknown user: always the same for a name, so that repeated requests do not reveal that the user is unknown. Configured
 * users have it as well. `secret` is unknown outside of the broker and stays the same after restarts.
 */
export function deriveSalt(username: string, algorithm: ScramAlgorithm, secret: Uint8Array): Buffer {
  return createHmac('sha256', secret)
    .update(`${algorithm}\0${prepareText(username) ?? ''}`)
    .digest()
    .subarray(0, scramSaltBytes)
}
