// Logins with tokens, in memory only: after a restart all users log in again.
//
//   token ──sha256──► {account, its password at that time, last use}
//
// A login ends when it is not used for an hour, when the user ends it, when the password of its account changes, when the account is
// deleted, and when the account may not use a password any more. Role and namespace are looked up each time, so changes apply at once.

import { createHash, randomBytes } from 'node:crypto'
import type { Logins, LoggedIn } from '../../management/index.ts'
import type { AccessRecords } from '../records/stored-access-records.ts'
import { toCaller, createConfiguredCaller, type ConfiguredAccount } from './admin-authentication.ts'

export interface LoginDependencies {
  readonly records: Pick<AccessRecords, 'find'>
  /** The configured account: the same object while it is unchanged. */
  readonly readConfiguredAccount: () => ConfiguredAccount
  /** Returns whether an account of that name may use a password now: a login must not bypass that. */
  readonly canLogIn: (name: string) => boolean
  /** A clock that never decreases. */
  readonly nowMs: () => number
}

/** Maximum time without use. */
export const loginIdleMs = 3_600_000
/** Time for which an ended login is remembered. */
const rememberedMs = 2 * loginIdleMs
/** Maximum for one account, and for all; beyond it the one that was unused longest is dropped. */
export const maxLoginsOfAccount = 64
const maxLogins = 8_192
const tokenBytes = 32

interface Login {
  readonly number: number
  readonly name: string
  /** Compared by identity. */
  readonly password: object
  lastShownAtMs: number
}

export function createAdminLogins({ records, readConfiguredAccount, canLogIn, nowMs }: LoginDependencies): Logins {
  /** By digest of the token, the least recently used first. */
  const logins = new Map<string, Login>()
  let lastNumber = 0
  const findPassword = (name: string): object | undefined => {
    if (!canLogIn(name)) return undefined
    if (name === readConfiguredAccount().username && readConfiguredAccount().password !== undefined)
      return readConfiguredAccount()
    return records.find({ kind: 'account', name })?.password
  }
  const findCaller = (name: string): LoggedIn | undefined => {
    if (name === readConfiguredAccount().username) return createConfiguredCaller(readConfiguredAccount())
    const record = records.find({ kind: 'account', name })
    return record === undefined ? undefined : toCaller(record)
  }
  return {
    begin: (name) => {
      const password = findPassword(name)
      if (password === undefined) return undefined
      const token = randomBytes(tokenBytes).toString('base64url')
      removeOldestLogins(logins, name)
      lastNumber += 1
      logins.set(computeDigest(token), { number: lastNumber, name, password, lastShownAtMs: nowMs() })
      return token
    },
    findCaller: (token, isIdle = false) => {
      const digest = computeDigest(token)
      const login = logins.get(digest)
      if (login === undefined) return 'wrong'
      const { number, name, password, lastShownAtMs } = login
      const idleMs = nowMs() - lastShownAtMs
      const caller = findPassword(name) === password ? findCaller(name) : undefined
      if (caller === undefined || idleMs >= rememberedMs) logins.delete(digest)
      if (caller === undefined) return 'wrong'
      if (idleMs >= loginIdleMs) return 'ended'
      if (isIdle) return { ...caller, login: number }
      login.lastShownAtMs = nowMs()
      logins.delete(digest)
      logins.set(digest, login)
      return { ...caller, login: number }
    },
    end: (number) => {
      for (const [digest, login] of logins) if (login.number === number) logins.delete(digest)
    },
  }
}

function computeDigest(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}

function removeOldestLogins(logins: Map<string, Login>, name: string): void {
  const ofAccount = [...logins].filter(([, login]) => login.name === name)
  const [oldestOfAccount] = ofAccount
  if (oldestOfAccount !== undefined && ofAccount.length >= maxLoginsOfAccount) logins.delete(oldestOfAccount[0])
  const oldest = logins.keys().next().value
  if (oldest !== undefined && logins.size >= maxLogins) logins.delete(oldest)
}
