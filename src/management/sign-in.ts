// Who asks. Every request says it anew; there are no sessions below `/api/v4`.

import { setTimeout } from 'node:timers/promises'
import type { Caller } from '../contract/index.ts'
import { maxAuthorizationBytes } from './limits.ts'
import { type Refusal, refuse, Refusal as RefusalValue } from './refusal.ts'
import { SignInDelays } from './sign-in-delays.ts'

export type SignedIn = Omit<Caller, 'address'>

/** Knows the accounts. */
export interface Accounts {
  /**
   * By user name and password, or application id and secret. Takes the same time whether the name is known or not.
   * undefined: nobody of that name with that password may come in. `from`: the address, so that many who are wrong at
   * one address do not keep those of others waiting.
   */
  signIn(name: string, password: string, from: string): Promise<SignedIn | undefined>
}

/** Knows tokens that somebody we trust has signed. */
export interface Tokens {
  signIn(token: string): Promise<SignedIn | 'wrong' | 'ended'>
}

/** The ways to come in over HTTP. */
export interface SignInWays {
  readonly accounts: Accounts
  /** undefined: tokens are not taken. */
  readonly tokens: Tokens | undefined
  /** Nobody is asked: `http_server.auth_type = no_auth`. */
  readonly isOpen: boolean
}

/** At the door of the API. */
export interface Doorkeeper {
  /** Nobody has to say who they are. */
  readonly isOpen: boolean
  /** Of the Authorization header of a request from `address`. Resolves with a refusal after the wait for it. */
  callerOf(authorization: string | undefined, address: string): Promise<Caller | Refusal>
  /** The same of a name and a password that came otherwise. */
  signIn(name: string, password: string, address: string): Promise<Caller | Refusal>
  /** Nobody waits any more. */
  close(): void
}

/** At the socket of the data directory: whoever may read that may do everything. */
export function socketDoorkeeper(overHttp: Doorkeeper): Doorkeeper {
  const caller: Caller = { name: 'local', by: 'socket', mayChange: true, address: '' }
  return { ...overHttp, isOpen: false, callerOf: async () => caller }
}

export function createDoorkeeper(ways: SignInWays, nowMs: () => number = () => performance.now()): Doorkeeper {
  const delays = new SignInDelays(nowMs)
  const closing = new AbortController()
  /** The answer to who was wrong comes late. */
  const delayed = async (address: string, name: string, refusal: Refusal): Promise<Refusal> => {
    const waitMs = delays.noteWrong(address, name)
    if (waitMs > 0) await setTimeout(waitMs, undefined, { signal: closing.signal }).catch(() => {})
    return refusal
  }
  const signIn = async (name: string, password: string, address: string): Promise<Caller | Refusal> => {
    if (name === '' || password === '') return refuse('emptyCredentials', 'user name or password is empty')
    const found = await ways.accounts.signIn(name, password, address)
    if (found === undefined) return delayed(address, name, wrongCredentials())
    delays.noteRight(address, name)
    return { ...found, address }
  }
  const signInByToken = async (token: string, address: string): Promise<Caller | Refusal> => {
    const found = (await ways.tokens?.signIn(token)) ?? 'wrong'
    if (found === 'wrong') return delayed(address, token, refuse('wrongCredentials', 'the token is not good'))
    if (found === 'ended') return refuse('tokenExpired', 'the token has ended: get a new one')
    return { ...found, address }
  }
  const callerOf: Doorkeeper['callerOf'] = async (authorization, address) => {
    if (ways.isOpen) return { name: '', by: 'nobody', mayChange: true, address }
    const shown = readAuthorization(authorization, ways.tokens !== undefined)
    if (shown instanceof RefusalValue) return shown
    return 'token' in shown ? signInByToken(shown.token, address) : signIn(shown.name, shown.password, address)
  }
  return { isOpen: ways.isOpen, callerOf, signIn, close: () => closing.abort() }
}

type Shown = { readonly name: string; readonly password: string } | { readonly token: string }

/** [RFC7617-2] [RFC6750-2.1] */
function readAuthorization(authorization: string | undefined, takesTokens: boolean): Shown | Refusal {
  const [, scheme = '', rest = ''] = /^([A-Za-z]+) +(\S.*)$/.exec(authorization ?? '') ?? []
  const isBasic = scheme.toLowerCase() === 'basic'
  if (!isBasic && !(takesTokens && scheme.toLowerCase() === 'bearer')) {
    const how = takesTokens ? 'send them as HTTP Basic, or a token as Bearer' : 'send them as HTTP Basic'
    return refuse('emptyCredentials', `no user name and password were given: ${how}`)
  }
  if (rest.length > maxAuthorizationBytes) return wrongCredentials()
  if (!isBasic) return { token: rest }
  const text = Buffer.from(rest, 'base64').toString()
  const colon = text.indexOf(':')
  return colon === -1 ? wrongCredentials() : { name: text.slice(0, colon), password: text.slice(colon + 1) }
}

function wrongCredentials(): Refusal {
  return refuse('wrongCredentials', 'user name or password is wrong')
}
