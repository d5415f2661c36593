// Converts the password file of mosquitto, which has one line for each user:
//
//   name:$6$<salt>$<hash>                 SHA-512 over password and salt
//   name:$7$<iterations>$<salt>$<hash>    PBKDF2 with HMAC-SHA-512

import { type CredentialRecord, maxPbkdf2Iterations } from '../../records/index.ts'
import type { Converted } from './converted.ts'

const hashBytes = 64

/** Returns the credentials, and a message for each line that is skipped. Messages contain no part of a hash. */
export function convertPasswordFile(text: string, createdAtMs: number): Converted<CredentialRecord[]> {
  const skipped: string[] = []
  const records = text.split(/\r?\n/).flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return []
    const read = readLine(line, createdAtMs)
    if (typeof read !== 'string') return [read]
    skipped.push(`password file, line ${index + 1}: ${read}`)
    return []
  })
  return { value: records, skipped }
}

/** Returns the credential of a line, or the reason why the line is skipped. */
function readLine(line: string, createdAtMs: number): CredentialRecord | string {
  const colon = line.lastIndexOf(':')
  const id = line.slice(0, Math.max(0, colon))
  if (id === '') return 'it is not a user name and a hash'
  const [empty, kind, ...parts] = line.slice(colon + 1).split('$')
  const record = { kind: 'credential', by: 'username', id, isSuperuser: false, createdAtMs } as const
  if (empty === '' && kind === '6' && parts.length === 2) {
    const [salt, hash] = parts.map((part) => Buffer.from(part, 'base64'))
    if (salt !== undefined && hash?.length === hashBytes)
      return { ...record, algorithm: 'sha512', saltPosition: 'suffix', salt, hash }
  }
  if (empty === '' && kind === '7' && parts.length === 3) {
    const iterations = Number(parts[0])
    const [salt, hash] = parts.slice(1).map((part) => Buffer.from(part, 'base64'))
    if (Number.isInteger(iterations) && iterations > maxPbkdf2Iterations)
      return `the hash of ${JSON.stringify(id)} has more than ${maxPbkdf2Iterations} iterations: set a new password`
    if (Number.isInteger(iterations) && iterations > 0 && salt !== undefined && hash?.length === hashBytes) {
      const saltWithIterations = Buffer.concat([Buffer.from([0, 0, iterations >> 8, iterations & 0xff]), salt])
      return { ...record, algorithm: 'pbkdf2_sha512', saltPosition: 'prefix', salt: saltWithIterations, hash }
    }
  }
  if (empty === '' && (kind === '6' || kind === '7'))
    return `the hash of ${JSON.stringify(id)} is damaged: set a new password`
  return `the hash of ${JSON.stringify(id)} is neither $6$ nor $7$: run mosquitto_passwd -U, or set a new password`
}
