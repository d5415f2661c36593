// Converts the password file of mosquitto, which has one line for each user:
//
//   name:$6$<salt>$<hash>                 SHA-512 over password and salt
//   name:$7$<iterations>$<salt>$<hash>    PBKDF2 with HMAC-SHA-512
//
// A user with another hash gets a random password. Without it the name would be unknown, and an anonymous client could take it.

import { randomBytes } from 'node:crypto'
import { type CredentialRecord, maxPbkdf2Iterations } from '../../../src/records/index.ts'
import type { Converted } from './converted.ts'

const hashBytes = 64
const saltBytes = 12

/** Returns the credentials, and a message for each line that was skipped or became stricter. Messages contain no part of a hash. */
export function convertPasswordFile(text: string, createdAtMs: number): Converted<CredentialRecord[]> {
  const skipped: string[] = []
  const stricter: string[] = []
  const found = new Map<string, CredentialRecord>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const place = `password file, line ${index + 1}`
    const colon = line.lastIndexOf(':')
    const id = colon === -1 ? line.trim() : line.slice(0, colon)
    if (id === '' || id.includes('\0')) skipped.push(`${place}: it has no user name`)
    else if (found.has(id))
      skipped.push(`${place}: the user ${JSON.stringify(id)} occurs twice: the first password is used`)
    else {
      const hash = readHash(colon === -1 ? '' : line.slice(colon + 1), id)
      const common = { kind: 'credential', by: 'username', id, isSuperuser: false, createdAtMs } as const
      if (typeof hash === 'string') stricter.push(`${place}: ${hash}; until then the name cannot log in`)
      found.set(id, { ...common, ...(typeof hash === 'string' ? createUnknownPassword() : hash) })
    }
  }
  return { value: [...found.values()], skipped, stricter }
}

type ReadHash = Pick<CredentialRecord, 'algorithm' | 'saltPosition' | 'salt' | 'hash'>

function createUnknownPassword(): ReadHash {
  return { algorithm: 'sha512', saltPosition: 'suffix', salt: randomBytes(saltBytes), hash: randomBytes(hashBytes) }
}

/** Returns the hash of a line, or the reason why it cannot be used. */
function readHash(written: string, id: string): ReadHash | string {
  const [empty, kind, ...parts] = written.split('$')
  if (empty === '' && kind === '6' && parts.length === 2) {
    const [salt, hash] = parts.map((part) => Buffer.from(part, 'base64'))
    if (salt !== undefined && hash?.length === hashBytes)
      return { algorithm: 'sha512', saltPosition: 'suffix', salt, hash }
  }
  if (empty === '' && kind === '7' && parts.length === 3) {
    const iterations = Number(parts[0])
    const [salt, hash] = parts.slice(1).map((part) => Buffer.from(part, 'base64'))
    if (Number.isInteger(iterations) && iterations > maxPbkdf2Iterations)
      return `the hash of ${JSON.stringify(id)} has more than ${maxPbkdf2Iterations} iterations: set a new password`
    if (Number.isInteger(iterations) && iterations > 0 && salt !== undefined && hash?.length === hashBytes) {
      const saltWithIterations = Buffer.concat([Buffer.from([0, 0, iterations >> 8, iterations & 0xff]), salt])
      return { algorithm: 'pbkdf2_sha512', saltPosition: 'prefix', salt: saltWithIterations, hash }
    }
  }
  if (written === '') return `the user ${JSON.stringify(id)} has no password: set one`
  if (empty === '' && (kind === '6' || kind === '7'))
    return `the hash of ${JSON.stringify(id)} is damaged: set a new password`
  return `the hash of ${JSON.stringify(id)} is neither $6$ nor $7$: set a new password`
}
