// Who has signed in once and shows a token from then on. In memory only: after a restart everybody signs in anew.
//
//   token ──sha256──► {whose, the password that it was begun with, when it was last shown}
//
// A login ends when it is not shown for an hour, when somebody ends it, when its password is another one, when its account
// is gone, and when the account does not come in by a password any more. Role and namespace are looked up each time, so that a change of them holds at once.

import { createHash, randomBytes } from 'node:crypto'
import type { Logins, SignedIn } from '../../management/index.ts'
import type { AccessRecords } from '../records/access-records.ts'
import { callerOf, configuredCaller, type ConfiguredAccount } from './operator-sign-in.ts'

export interface LoginDependencies {
  readonly records: Pick<AccessRecords, 'find'>
  /** As the configuration says it now: the same object as long as it says the same. */
  readonly own: () => ConfiguredAccount
  /** Whether somebody of that name comes in by a password now: a login is no way around that. */
  readonly canSignIn: (name: string) => boolean
  /** A clock that never goes back. */
  readonly nowMs: () => number
}

/** So long a login may not be shown. */
export const loginIdleMs = 3_600_000
/** So long it is known of one that it has ended. */
const rememberedMs = 2 * loginIdleMs
/** Of one account, and of all together; beyond it the one goes that was not shown for the longest time. */
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

export function adminLogins({ records, own, canSignIn, nowMs }: LoginDependencies): Logins {
  /** By digest of the token, the one that was shown longest ago first. */
  const logins = new Map<string, Login>()
  let lastNumber = 0
  const passwordOf = (name: string): object | undefined => {
    if (!canSignIn(name)) return undefined
    if (name === own().username && own().password !== undefined) return own()
    return records.find({ kind: 'account', name })?.password
  }
  const callerOfName = (name: string): SignedIn | undefined => {
    if (name === own().username) return configuredCaller(own())
    const record = records.find({ kind: 'account', name })
    return record === undefined ? undefined : callerOf(record)
  }
  return {
    begin: (name) => {
      const password = passwordOf(name)
      if (password === undefined) return undefined
      const token = randomBytes(tokenBytes).toString('base64url')
      makeRoom(logins, name)
      lastNumber += 1
      logins.set(digestOf(token), { number: lastNumber, name, password, lastShownAtMs: nowMs() })
      return token
    },
    callerOf: (token, isIdle = false) => {
      const digest = digestOf(token)
      const login = logins.get(digest)
      if (login === undefined) return 'wrong'
      const { number, name, password, lastShownAtMs } = login
      const idleMs = nowMs() - lastShownAtMs
      const caller = passwordOf(name) === password ? callerOfName(name) : undefined
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

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}

function makeRoom(logins: Map<string, Login>, name: string): void {
  const ofAccount = [...logins].filter(([, login]) => login.name === name)
  const [oldestOfAccount] = ofAccount
  if (oldestOfAccount !== undefined && ofAccount.length >= maxLoginsOfAccount) logins.delete(oldestOfAccount[0])
  const oldest = logins.keys().next().value
  if (oldest !== undefined && logins.size >= maxLogins) logins.delete(oldest)
}
