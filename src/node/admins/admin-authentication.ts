// Authenticates users of the management API by name and password: the account of `http_server`, other accounts,
// and API keys.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Accounts, LoggedIn } from '../../management/index.ts'
import type { AccountRecord, ApiKeyRecord, StoredPassword } from '../../records/index.ts'
import type { AccessRecords } from '../records/stored-access-records.ts'
import type { PasswordHasher } from './password-hashing.ts'
import type { RecentLogins } from './recent-logins.ts'
import { isWellKnownPassword } from './well-known-passwords.ts'

/** The account of `http_server`. */
export interface ConfiguredAccount {
  readonly username: string
  /** Password of the configuration; undefined: the one in the records, if any. */
  readonly password: string | undefined
}

export interface AuthenticationDependencies {
  readonly records: Pick<AccessRecords, 'find'>
  readonly work: PasswordHasher
  readonly recent: RecentLogins
  readonly own: ConfiguredAccount
  /** Well-known passwords are refused, unless they are in the configuration. */
  readonly isHardened: boolean
  /** The account of `http_server` may not use a password: `auth_type = jwt`. */
  readonly refusesOwn: boolean
  /** Wall clock. */
  nowMs(): number
}

/** Maximum number of cached results of correct passwords. For other passwords the hash is computed again. */
const maxRemembered = 1_024

export function createAdminAuthentication(dependencies: AuthenticationDependencies): Accounts {
  const { records, work, recent, own, refusesOwn } = dependencies
  // The cache contains only HMACs with this random key, which are useless outside of this process.
  const key = randomBytes(32)
  const computeFingerprint = (name: string, password: string): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([name, password]))
      .digest('base64')
  const ofConfiguration = own.password === undefined ? undefined : computeFingerprint(own.username, own.password)
  /** By fingerprint of name and password: the record for which the password was correct. A changed record is another object. */
  const remembered = new Map<string, AccountRecord | ApiKeyRecord>()
  /** Returns whether the records are ignored: the configuration has the password, or the account may not use one. */
  const isOwn = (name: string): boolean => (refusesOwn || ofConfiguration !== undefined) && name === own.username
  const find = (name: string): AccountRecord | ApiKeyRecord | undefined => {
    const apiKey = records.find({ kind: 'api-key', id: name })
    if (apiKey !== undefined || isOwn(name)) return apiKey
    return records.find({ kind: 'account', name })
  }
  return {
    logIn: async (name, password, from, gone) => {
      const fingerprint = computeFingerprint(name, password)
      if (isOwn(name) && !refusesOwn && isSame(fingerprint, ofConfiguration)) {
        return createConfiguredCaller(own)
      }
      const record = find(name)
      const isKnown = record !== undefined && remembered.get(fingerprint) === record
      const claimed = { name, wasRightHere: !isKnown && recent.has(from, name, dependencies.nowMs()), gone }
      if (!isKnown && !(await work.isPassword(password, findPassword(record), from, claimed))) return undefined
      // The record may have been deleted or changed meanwhile.
      if (record === undefined || find(name) !== record || !canLogIn(record, dependencies)) return undefined
      // Generated secrets are random, but those of an archive or of another broker need not be.
      if (dependencies.isHardened && isWellKnownPassword(name, password)) return 'well-known'
      recent.record(from, name, dependencies.nowMs())
      remembered.delete(fingerprint)
      remembered.set(fingerprint, record)
      if (remembered.size > maxRemembered) forgetOldest(remembered)
      return toCaller(record)
    },
  }
}

function findPassword(record: AccountRecord | ApiKeyRecord | undefined): StoredPassword | undefined {
  return record?.kind === 'account' ? record.password : record?.secret
}

function canLogIn(record: AccountRecord | ApiKeyRecord, dependencies: AuthenticationDependencies): boolean {
  if (record.kind === 'account') return true
  return record.isEnabled && (record.expiresAtMs === undefined || dependencies.nowMs() < record.expiresAtMs)
}

/** Returns the caller of a record, for any credentials. */
export function toCaller(record: AccountRecord | ApiKeyRecord): LoggedIn {
  const { role, namespace } = record
  return record.kind === 'account'
    ? { name: record.name, by: 'account', role, namespace, login: undefined }
    : { name: record.id, by: 'api-key', role, namespace, login: undefined }
}

/** Returns the caller for the account of `http_server`. A record with the same name is not used. */
export function createConfiguredCaller({ username }: ConfiguredAccount): LoggedIn {
  return { name: username, by: 'account', role: 'administrator', namespace: undefined, login: undefined }
}

function isSame(one: string, other: string | undefined): boolean {
  return other !== undefined && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}

function forgetOldest(remembered: Map<string, unknown>): void {
  const oldest = remembered.keys().next().value
  if (oldest !== undefined) remembered.delete(oldest)
}
