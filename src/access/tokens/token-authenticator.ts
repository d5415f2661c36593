// By a token that somebody we trust has signed. What does not look like a token is passed on; what does is decided here.

import { reasonCodes } from '../../protocol/index.ts'
import {
  ignored,
  type Attempt,
  type Authenticator,
  type Outcome,
  type Rejection,
} from '../authenticators/authenticator.ts'
import { fillPlaceholders } from '../placeholders.ts'
import { checkToken, readTokenHeader, tokenPrefix, type Claims, type TokenCheck } from './token-check.ts'
import type { TokenKey, TokenKeySource } from './token-keys.ts'

export interface TokenSettings {
  /** Where in CONNECT the token stands. */
  readonly from: 'password' | 'username'
  readonly key: TokenKeySource
  readonly leewayMs: number
  /** Claims with the values that they must have; `%c` or `${clientid}` and `%u` or `${username}` are filled in. */
  readonly claims: readonly (readonly [claim: string, pattern: string])[]
  /** The claim that is the user name; undefined: the user name of CONNECT, unless the token stands there. */
  readonly usernameClaim: string | undefined
  /** The claim that says what the client may do. */
  readonly aclClaim: string
  /** The client is sent away when the token ends. */
  readonly endsWithToken: boolean
}

/** What `Identity.grants` is made of; undefined: the claim is not of a form that is known. */
export type ReadGrants = (claim: unknown) => object | undefined

/** Longer ones are not even decoded. */
const maxTokenBytes = 16_384

export class TokenAuthenticator implements Authenticator {
  readonly #settings: TokenSettings
  readonly #keys: readonly TokenKey[]
  readonly #readGrants: ReadGrants

  constructor(settings: TokenSettings, keys: readonly TokenKey[], readGrants: ReadGrants) {
    this.#settings = settings
    this.#keys = keys
    this.#readGrants = readGrants
  }

  authenticate(attempt: Attempt): Outcome | Promise<Outcome> {
    const token = this.#settings.from === 'password' ? attempt.password?.toString('latin1') : attempt.username
    if (token === undefined) return ignored
    if (token.length > maxTokenBytes) return token.startsWith(tokenPrefix) ? reject('the token is too long') : ignored
    const header = readTokenHeader(token)
    if (header === undefined) return ignored
    const keys = this.#keys.filter(({ algorithms, keyId }) => {
      const mayBeIt = keyId === undefined || header.keyId === undefined || keyId === header.keyId
      return mayBeIt && algorithms.includes(header.algorithm)
    })
    return keys.length === 0
      ? reject('no key is known that such a token is signed with')
      : this.#check(token, keys, attempt)
  }

  async #check(token: string, keys: readonly TokenKey[], attempt: Attempt): Promise<Outcome> {
    const { leewayMs } = this.#settings
    const latestMs = attempt.nowMs + leewayMs
    let checked: TokenCheck = { problem: 'no key fits', hasEnded: false }
    for (const key of keys) {
      checked = await checkToken(token, key, { nowMs: attempt.nowMs, leewayMs })
      if (!('claims' in checked)) continue
      // A clock that is so far ahead makes tokens that end too late as well.
      const isOfTheFuture = (checked.claims.iat ?? 0) * 1_000 > latestMs
      return isOfTheFuture ? reject('the token is issued in the future') : this.#admit(checked.claims, attempt)
    }
    return reject('problem' in checked ? checked.problem : 'no key fits')
  }

  #admit(claims: Claims, attempt: Attempt): Outcome {
    const { from, usernameClaim, aclClaim, endsWithToken, leewayMs } = this.#settings
    const names = { clientid: attempt.clientId, username: from === 'username' ? undefined : attempt.username }
    for (const [claim, pattern] of this.#settings.claims) {
      if (!matchesClaim(ownClaim(claims, claim), fillPlaceholders(pattern, names)))
        return reject(`the claim ${claim} is another one`)
    }
    const named = usernameClaim === undefined ? names.username : ownClaim(claims, usernameClaim)
    if (usernameClaim !== undefined && typeof named !== 'string')
      return reject(`the claim ${usernameClaim} is no user name`)
    const acl = ownClaim(claims, aclClaim)
    const grants = acl === undefined ? undefined : this.#readGrants(acl)
    if (acl !== undefined && grants === undefined) return reject(`the claim ${aclClaim} is not of a form that is known`)
    // The library has seen to it that `exp` is a number.
    const expiresAtMs = endsWithToken ? (claims.exp ?? 0) * 1_000 + leewayMs : undefined
    return { result: 'success', username: named as string | undefined, isSuperuser: false, expiresAtMs, grants }
  }
}

function ownClaim(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined
}

/** A claim with several values fits by one of them, as `aud` does. Nothing fits where what is filled in is empty. */
function matchesClaim(claim: unknown, expected: string): boolean {
  if (expected === '') return false
  if (Array.isArray(claim)) return claim.some((value) => matchesClaim(value, expected))
  return typeof claim === 'string' || typeof claim === 'number' || typeof claim === 'boolean'
    ? String(claim) === expected
    : false
}

/** The same answer as to a wrong password. */
function reject(why: string): Rejection {
  return { result: 'reject', reason: reasonCodes.badUserNameOrPassword, why }
}
