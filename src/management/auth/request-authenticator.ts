// Authenticates requests, each by name and password, by a signed token, or by the token of a login.

import { timingSafeEqual } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Caller } from '../../contract/index.ts'
import type { Log } from '../../telemetry/index.ts'
import { FailedLogins } from './failed-login-log.ts'
import { maxAuthorizationBytes } from '../http/http-limits.ts'
import { ApiError, refuse, refuseFor } from '../http/api-error.ts'
import { LoginBackoff } from './login-backoff.ts'
import type { SingleSignOn, SsoResponse, SsoBegun, SsoFailure } from './single-sign-on-types.ts'

export type LoggedIn = Omit<Caller, 'address'>

/** Checks accounts. */
export interface Accounts {
  /**
   * Checks user name and password, or application ID and secret. Takes the same time whether the name exists or not.
   * undefined: wrong. `from`: the address, so that failures of one address do not delay others. `well-known`: correct,
   * and a default password. `gone`: aborted when the client has disconnected; then the promise may never resolve.
   */
  logIn(name: string, password: string, from: string, gone?: AbortSignal): Promise<LoggedIn | 'well-known' | undefined>
}

/** Result of a one-time code. `missing`: the request has none; `secret`, in base 32, until a code was accepted once. */
export type CodeCheck =
  | 'not-needed'
  | 'passed'
  | 'wrong'
  | 'too-many'
  | { readonly missing: true; readonly secret?: string; readonly uri?: string }

/** Knows which accounts need a one-time code beside the password. */
export interface SecondFactors {
  /** `code` undefined: the request has none. A code is accepted once. */
  check(name: string, code: string | undefined): Promise<CodeCheck>
}

/** Tokens of logins. */
export interface Logins {
  /** Returns a token for an authenticated account; undefined: the account was deleted. */
  begin(name: string): string | undefined
  /** `isIdle`: not an action of the user, so the login is not extended. */
  findCaller(token: string, isIdle?: boolean): LoggedIn | 'wrong' | 'ended'
  end(login: number): void
}

/** Checks tokens signed by a trusted issuer. */
export interface Tokens {
  /** `reason`: a sentence about the token, for its owner and the log. */
  logIn(token: string): Promise<LoggedIn | 'ended' | { readonly reason: string }>
}

/** Authentication methods over HTTP. */
export interface LoginMethods {
  readonly accounts: Accounts
  /** undefined: tokens are not accepted. */
  readonly tokens: Tokens | undefined
  readonly logins: Logins
  readonly secondFactors: SecondFactors
  readonly singleSignOn: SingleSignOn
  /** No authentication: `http_server.auth_type = no_auth`. */
  readonly isOpen: boolean
}

export interface RequestFacts {
  /** Aborted when the client has disconnected: then the promise may never resolve. */
  readonly gone?: AbortSignal
  /** A page sends the request without an action of its user (`x-godwit-idle: 1`): the login is not extended. */
  readonly isIdle?: boolean
}

/** Authenticates requests. */
export interface Authenticator {
  /** No authentication is needed. */
  readonly isDisabled: boolean
  /** Checks the Authorization header of a request from `address`. Resolves with a refusal after its delay. */
  authenticate(authorization: string | undefined, address: string, request?: RequestFacts): Promise<Caller | ApiError>
  /** Does the same for a name and a password from elsewhere, and a one-time code where there is one. */
  logIn(name: string, password: string, address: string, extra?: ShownBeside): Promise<Caller | ApiError>
  /** An authenticated caller has sent a wrong password of `name`. Resolves when the response may be sent. */
  recordFailure(name: string, address: string): Promise<void>
  readonly logins: Logins
  /** Login by a provider. */
  readonly singleSignOn: {
    isOn(): boolean
    begin(address: string): Promise<SsoBegun | ApiError>
    /** Resolves with a refusal after its delay. */
    finish(response: SsoResponse, address: string, gone?: AbortSignal): Promise<Caller | ApiError>
  }
}

export interface ShownBeside {
  /** See `RequestFacts`. */
  readonly gone?: AbortSignal | undefined
  /** A one-time code. */
  readonly code?: string | undefined
}

/** The wrong credentials: a name, or a token. */
type ShownCredential = { readonly name: string } | { readonly token: string; readonly reason: string }

/** Delays failed logins. It outlives changes of the authentication methods, which reset no delays. */
export class AuthQueue {
  readonly #backoff: LoginBackoff
  readonly #failures: FailedLogins
  readonly #closing: AbortController

  /** `nowMs` never decreases. */
  constructor(log: Log, nowMs: () => number = () => performance.now()) {
    this.#backoff = new LoginBackoff(nowMs)
    this.#failures = new FailedLogins(log, nowMs)
    this.#closing = new AbortController()
  }

  /** Resolves when the response may be sent. `shown`: the name, or the token. */
  async recordFailure(address: string, credential: ShownCredential, gone?: AbortSignal): Promise<void> {
    const isToken = 'token' in credential
    this.#failures.record(isToken ? { address, reason: credential.reason } : { name: credential.name, address })
    const waitMs = this.#backoff.recordFailure(address, isToken ? credential.token : credential.name)
    const closing = this.#closing.signal
    const signal = gone === undefined ? closing : AbortSignal.any([closing, gone])
    if (waitMs > 0) await setTimeout(waitMs, undefined, { signal }).catch(() => {})
  }

  /** The token was valid before: its owner is not delayed. */
  recordExpired(address: string): void {
    this.#failures.record({ address, reason: 'the token has expired' })
  }

  recordSuccess(address: string, name: string): void {
    this.#backoff.recordSuccess(address, name)
  }

  /** Ends all delays. */
  close(): void {
    this.#closing.abort()
  }
}

/** For the control socket: a program that can read the secret of the data directory may do everything. */
export function createSocketAuthenticator(overHttp: Authenticator, secret: string): Authenticator {
  const caller: Caller = { ...unlimited, name: 'local', by: 'socket', address: '' }
  const expected = Buffer.from(`Bearer ${secret}`)
  const authenticate = async (authorization = ''): Promise<Caller | ApiError> => {
    const sent = Buffer.from(authorization)
    if (sent.length === expected.length && timingSafeEqual(sent, expected)) return caller
    return refuse(
      'wrongCredentials',
      'the control socket needs the secret in ctl.secret of the data directory: use godwit ctl',
    )
  }
  return { ...overHttp, isDisabled: false, authenticate }
}

const unlimited = { role: 'administrator', namespace: undefined, login: undefined } as const

export function createAuthenticator(ways: LoginMethods, authQueue: AuthQueue): Authenticator {
  /** Responses to failed logins are delayed. */
  const delayRefusal = async (
    refusal: ApiError,
    credential: ShownCredential,
    address: string,
    gone?: AbortSignal,
  ): Promise<ApiError> => {
    await authQueue.recordFailure(address, credential, gone)
    return refusal
  }
  const logIn: Authenticator['logIn'] = async (name, password, address, { gone, code } = {}) => {
    if (name === '' || password === '') return refuse('emptyCredentials', 'user name or password is empty')
    const found = await ways.accounts.logIn(name, password, address, gone)
    if (found === undefined) return delayRefusal(refuseCredentials(), { name }, address, gone)
    if (found !== 'well-known' && found.by === 'account') {
      const checked = await ways.secondFactors.check(name, code)
      if (checked === 'wrong') await authQueue.recordFailure(address, { name }, gone)
      if (checked !== 'passed' && checked !== 'not-needed') return refuseCode(checked)
    }
    authQueue.recordSuccess(address, name)
    if (found === 'well-known') return refuseFor('BAD_API_KEY_OR_SECRET', wellKnownPasswordText)
    return { ...found, address }
  }
  const logInByToken = async (token: string, address: string, request: RequestFacts): Promise<Caller | ApiError> => {
    const { gone, isIdle } = request
    const found = token.includes('.')
      ? ((await ways.tokens?.logIn(token)) ?? 'wrong')
      : ways.logins.findCaller(token, isIdle)
    if (isInvalid(found)) {
      const reason = found === 'wrong' ? 'no login has this token' : found.reason
      return delayRefusal(refuseFor('BAD_TOKEN', `invalid token: ${reason}`), { token, reason }, address, gone)
    }
    if (found === 'ended') {
      authQueue.recordExpired(address)
      return refuseFor('TOKEN_TIME_OUT', 'the token has expired: get a new one')
    }
    return { ...found, address }
  }
  const authenticate: Authenticator['authenticate'] = async (authorization, address, request = {}) => {
    if (ways.isOpen) return { ...unlimited, name: '', by: 'nobody', address }
    const read = readAuthorization(authorization, ways.tokens !== undefined)
    if (read instanceof ApiError) return read
    if ('token' in read) return logInByToken(read.token, address, request)
    return logIn(read.name, read.password, address, request)
  }
  const recordFailure = (name: string, address: string): Promise<void> => authQueue.recordFailure(address, { name })
  const singleSignOn = createSingleSignOn(ways.singleSignOn, authQueue)
  return { isDisabled: ways.isOpen, authenticate, logIn, recordFailure, logins: ways.logins, singleSignOn }
}

function createSingleSignOn(ways: SingleSignOn, authQueue: AuthQueue): Authenticator['singleSignOn'] {
  return {
    isOn: () => ways.isOn(),
    begin: async (address) => {
      const begun = await ways.begin(address)
      return 'kind' in begun ? refuseSso(begun) : begun
    },
    finish: async (response, address, gone) => {
      const found = await ways.finish(response, address)
      if (!('kind' in found)) return { ...found, address }
      const { kind, message: reason } = found
      // All failures of an address count as those of one name.
      if (kind === 'refused') await authQueue.recordFailure(address, { token: 'single sign-on', reason }, gone)
      return refuseSso(found)
    },
  }
}

const tooBusy = 503

function refuseSso({ kind, message }: SsoFailure): ApiError {
  switch (kind) {
    case 'off':
      return refuseFor('NOT_FOUND', message)
    case 'busy':
      return refuse('rpcError', message, tooBusy)
    case 'provider':
      return refuse('rpcError', message)
    case 'refused':
      return refuseFor('BAD_TOKEN', message)
    case 'denied':
      return refuseFor('UNAUTHORIZED_ROLE', message)
    default:
      return kind satisfies never
  }
}

function refuseCode(checked: Exclude<CodeCheck, 'passed' | 'not-needed'>): ApiError {
  const mechanism = 'totp'
  if (typeof checked === 'object') {
    const { secret, uri } = checked
    const enrollment: Record<string, string> = secret === undefined || uri === undefined ? {} : { secret, uri }
    const words = 'this account needs a one-time code: POST /api/v5/login with mfa_token'
    return refuseFor('BAD_MFA_TOKEN', words).withMfa({ error: 'missing_mfa_token', mechanism, ...enrollment })
  }
  const words =
    checked === 'wrong'
      ? 'the one-time code is wrong or used up: wait for the next one'
      : 'too many wrong one-time codes: wait five minutes'
  return refuseFor('BAD_MFA_TOKEN', words).withMfa({ error: 'bad_mfa_token', mechanism })
}

type LoggedInByToken = Awaited<ReturnType<Tokens['logIn']>> | 'wrong'

function isInvalid(found: LoggedInByToken): found is 'wrong' | { readonly reason: string } {
  return found === 'wrong' || (typeof found === 'object' && 'reason' in found)
}

type ShownCredentials = { readonly name: string; readonly password: string } | { readonly token: string }

/** [RFC7617-2] [RFC6750-2.1] */
function readAuthorization(authorization: string | undefined, takesTokens: boolean): ShownCredentials | ApiError {
  const [, scheme = '', rest = ''] = /^([A-Za-z]+) +(\S.*)$/.exec(authorization ?? '') ?? []
  const isBasic = scheme.toLowerCase() === 'basic'
  const isToken = scheme.toLowerCase() === 'bearer'
  // Signed tokens need a key; tokens of logins do not.
  if (isToken && !takesTokens && rest.includes('.')) {
    return refuse('emptyCredentials', `signed tokens are not accepted: ${loginHint}`).withReason('BAD_TOKEN')
  }
  if (!isBasic && !isToken) {
    return refuse('emptyCredentials', `no user name and password were given: ${loginHint}`)
  }
  if (rest.length > maxAuthorizationBytes) return refuseCredentials()
  if (!isBasic) return { token: rest }
  const text = Buffer.from(rest, 'base64').toString()
  const colon = text.indexOf(':')
  return colon === -1 ? refuseCredentials() : { name: text.slice(0, colon), password: text.slice(colon + 1) }
}

const loginHint = 'send them as HTTP Basic, or a token as Bearer'

const wellKnownPasswordText =
  'this is a well-known password: set another one as http_server.password, or by godwit ctl admins reset'

function refuseCredentials(): ApiError {
  return refuseFor('BAD_API_KEY_OR_SECRET', 'user name or password is wrong')
}
