// The account of `http_server`: the first administrator, which always exists.
//
//   password in the configuration     that one is valid, whatever is stored
//   none, and one is stored           the stored one
//   none, hardened                    the first start creates one, shows it once and stores its hash
//   none, legacy                      the well-known default

import { randomBytes } from 'node:crypto'
import type { GodwitConfig } from '../../config/index.ts'
import type { AccessRecords } from '../records/stored-access-records.ts'
import type { PasswordHasher } from './password-hashing.ts'
import type { ConfiguredAccount } from './admin-authentication.ts'
import { isWellKnownPassword } from './well-known-passwords.ts'

const legacyPassword = 'public'
const randomPasswordBytes = 18

export interface NewPassword {
  readonly username: string
  readonly password: string
}

export function resolveConfiguredAccount(
  { http, node }: GodwitConfig,
  records: Pick<AccessRecords, 'find'>,
): ConfiguredAccount {
  const { username, password } = http
  const isKept = records.find({ kind: 'account', name: username }) !== undefined
  const defaultPassword = node.securityProfile === 'legacy' && !isKept ? legacyPassword : undefined
  return { username, password: password ?? defaultPassword }
}

/** Creates a password at the first start of a node without one. undefined: there is one. Throws StorageFailure. */
export async function generateAdminPassword(
  { username, password: configuredPassword }: ConfiguredAccount,
  records: AccessRecords,
  work: PasswordHasher,
): Promise<NewPassword | undefined> {
  if (configuredPassword !== undefined || records.find({ kind: 'account', name: username }) !== undefined)
    return undefined
  const password = randomBytes(randomPasswordBytes).toString('base64url')
  const kept = await work.hash(password)
  const createdAtMs = records.createMomentMs()
  const plain = { description: '', role: 'administrator', namespace: undefined } as const
  const account = { kind: 'account', name: username, ...plain, password: kept, createdAtMs } as const
  await records.change({ put: [account], delete: [] })
  return { username, password }
}

/** About the password in the configuration. */
export const wellKnownPasswordText = {
  key: 'http_server.password',
  message: 'this is a well-known password',
  hint: 'set one of your own, or none for a random one',
} as const

/** Returns the text for a configured password that is well known. */
export function findPasswordRisk(
  { http, node }: GodwitConfig,
  isLoopback: boolean,
): { readonly warning: string } | { readonly problem: string } | undefined {
  const { username, password } = http
  if (node.securityProfile !== 'hardened' || password === undefined || http.authType === 'no_auth') return undefined
  if (!isWellKnownPassword(username, password)) return undefined
  const { key, message, hint } = wellKnownPasswordText
  const words = `${key}: ${message}; ${hint}`
  return isLoopback ? { warning: words } : { problem: `${words}; the API is not opened to others with it` }
}
