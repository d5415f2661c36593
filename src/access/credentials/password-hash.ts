// Hashes passwords, and compares them in constant time.

import { hash, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto'
import { type CredentialRecord, maxPbkdf2Iterations, type PasswordHash, pbkdf2HashBytes } from '../../records/index.ts'

/** For new passwords: `auth.password_hash` and `auth.salt_position`. */
export interface HashParameters {
  readonly algorithm: NewPasswordHash
  readonly saltPosition: 'prefix' | 'suffix'
}

/** New passwords do not use PBKDF2. */
export type NewPasswordHash = Exclude<PasswordHash, 'pbkdf2_sha512'>

export const defaultHashParameters: HashParameters = { algorithm: 'sha256', saltPosition: 'prefix' }

/** The fields of a record that a password is compared with. */
export type HashedPassword = Pick<CredentialRecord, 'algorithm' | 'saltPosition' | 'salt' | 'hash'>

const saltBytes = 16

const digestNames = { md5: 'md5', sha: 'sha1', sha256: 'sha256', sha512: 'sha512' } as const

/** Hashes a password with a new salt. `plain` stores it unchanged. */
export function hashPassword(
  password: string | Uint8Array,
  parameters: HashParameters = defaultHashParameters,
): HashedPassword {
  const bytes = typeof password === 'string' ? Buffer.from(password) : password
  const { algorithm, saltPosition } = parameters
  const salt = algorithm === 'plain' ? noBytes : randomBytes(saltBytes)
  return { algorithm, saltPosition, salt, hash: computeDigest(bytes, { algorithm, saltPosition, salt }) }
}

/** Returns whether this is the password. An absent one counts as empty. */
export function isPassword(password: Uint8Array | undefined, record: HashedPassword): boolean {
  const digest = computeDigest(password ?? noBytes, record)
  // Plain passwords differ in length; digests do not.
  if (record.algorithm === 'plain') return timingSafeEqual(computeSha256(digest), computeSha256(record.hash))
  return digest.length === record.hash.length && timingSafeEqual(digest, record.hash)
}

/** Takes as long as `isPassword` for such a record, so that the time does not show whether a user exists. */
export function simulateHashing(password: Uint8Array | undefined, algorithm: PasswordHash): void {
  isPassword(password, placeholderRecords[algorithm])
}

const noBytes = new Uint8Array(0)

function computeDigest(password: Uint8Array, salting: Omit<HashedPassword, 'hash'>): Uint8Array {
  const { algorithm, saltPosition, salt } = salting
  if (algorithm === 'pbkdf2_sha512') return computePbkdf2(password, Buffer.from(salt))
  const salted =
    salt.length === 0 ? password : Buffer.concat(saltPosition === 'prefix' ? [salt, password] : [password, salt])
  return algorithm === 'plain' ? salted : hash(digestNames[algorithm], salted, 'buffer')
}

/** A record with more iterations matches no password; archives and imports reject it. */
function computePbkdf2(password: Uint8Array, salt: Buffer): Uint8Array {
  const iterations = salt.length < iterationBytes ? 0 : salt.readUInt32BE(0)
  if (iterations < 1 || iterations > maxPbkdf2Iterations) return noBytes
  return pbkdf2Sync(password, salt.subarray(iterationBytes), iterations, pbkdf2HashBytes, 'sha512')
}

const iterationBytes = 4

const computeSha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer')

/** Records without a matching password. */
const placeholderRecords: Readonly<Record<PasswordHash, HashedPassword>> = {
  plain: createPlaceholderRecord('plain'),
  md5: createPlaceholderRecord('md5'),
  sha: createPlaceholderRecord('sha'),
  sha256: createPlaceholderRecord('sha256'),
  sha512: createPlaceholderRecord('sha512'),
  pbkdf2_sha512: {
    algorithm: 'pbkdf2_sha512',
    saltPosition: 'prefix',
    // 101 iterations, as mosquitto has by default.
    salt: Buffer.concat([Buffer.from([0, 0, 0, 101]), randomBytes(saltBytes)]),
    hash: randomBytes(pbkdf2HashBytes),
  },
}

function createPlaceholderRecord(algorithm: NewPasswordHash): HashedPassword {
  return hashPassword(randomBytes(saltBytes), { algorithm, saltPosition: 'prefix' })
}
