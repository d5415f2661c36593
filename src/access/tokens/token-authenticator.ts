// Authenticates by a signed token of a trusted issuer. Other passwords are left to the next authenticator.

import type { JwtConfig } from '../../config/index.ts'
import { reasonCodes } from '../../protocol/index.ts'
import {
  unknownClient,
  type Attempt,
  type Authenticator,
  type AuthenticatorResult,
  type Refused,
} from '../authenticators/authenticator.ts'
import { fillPlaceholders } from '../authenticators/placeholders.ts'
import { checkToken, readTokenHeader, tokenPrefix, type Claims, type TokenCheck } from './token-check.ts'
import type { TokenKey } from './token-keys.ts'

/** Returns the value for `Identity.grants`; undefined if the form of the claim is unknown. */
export type ReadGrants = (claim: unknown) => object | undefined

/** Longer ones are not decoded. */
const maxTokenBytes = 16_384

/** U+0000 separates namespaces and names, and other control characters let a name look like another one. CONNECT cannot carry all of these either. */
const notInNames = /[\p{Cc}\p{Cs}]/u

export class TokenAuthenticator implements Authenticator {
  readonly #settings: JwtConfig
  readonly #keys: readonly TokenKey[]
  readonly #readGrants: ReadGrants

  constructor(settings: JwtConfig, keys: readonly TokenKey[], readGrants: ReadGrants) {
    this.#settings = settings
    this.#keys = keys
    this.#readGrants = readGrants
  }

  authenticate(attempt: Attempt): AuthenticatorResult | Promise<AuthenticatorResult> {
    const token = this.#settings.from === 'password' ? attempt.password?.toString('latin1') : attempt.username
    if (token === undefined) return unknownClient
    if (token.length > maxTokenBytes)
      return token.startsWith(tokenPrefix) ? refuse('the token is too long') : unknownClient
    const header = readTokenHeader(token)
    if (header === undefined) return unknownClient
    const keys = this.#keys.filter(({ algorithms, keyId }) => {
      const mayBeIt = keyId === undefined || header.keyId === undefined || keyId === header.keyId
      return mayBeIt && algorithms.includes(header.algorithm)
    })
    return keys.length === 0
      ? refuse('no key is known that such a token is signed with')
      : this.#check(token, keys, attempt)
  }

  async #check(token: string, keys: readonly TokenKey[], attempt: Attempt): Promise<AuthenticatorResult> {
    const { leewayMs } = this.#settings
    const latestMs = attempt.nowMs + leewayMs
    let checked: TokenCheck = { problem: 'no key fits', hasEnded: false }
    for (const key of keys) {
      checked = await checkToken(token, key, { nowMs: attempt.nowMs, leewayMs })
      if (!('claims' in checked)) continue
      // An issuer's clock that is so far ahead also issues tokens that expire too late.
      const isOfTheFuture = (checked.claims.iat ?? 0) * 1_000 > latestMs
      return isOfTheFuture ? refuse('the token is issued in the future') : this.#admit(checked.claims, attempt)
    }
    return refuse('problem' in checked ? checked.problem : 'no key fits')
  }

  #admit(claims: Claims, attempt: Attempt): AuthenticatorResult {
    const { from, usernameClaim, aclClaim, endsWithToken } = this.#settings
    const names = { clientid: attempt.clientId, username: from === 'username' ? undefined : attempt.username }
    for (const [claim, pattern] of this.#settings.claims) {
      if (!matchesClaim(readClaim(claims, claim), fillPlaceholders(pattern, names)))
        return refuse(`the claim ${claim} is another one`)
    }
    const named = usernameClaim === undefined ? names.username : readClaim(claims, usernameClaim)
    if (usernameClaim !== undefined && typeof named !== 'string')
      return refuse(`the claim ${usernameClaim} is not a user name`)
    if (typeof named === 'string' && notInNames.test(named))
      return refuse(`the claim ${usernameClaim} contains a control character or an incomplete character`)
    const acl = readClaim(claims, aclClaim)
    const grants = acl === undefined ? undefined : this.#readGrants(acl)
    if (acl !== undefined && grants === undefined) return refuse(`the claim ${aclClaim} is not of a form that is known`)
    // The library has verified that `exp` is a number.
    const expiresAtMs = endsWithToken ? (claims.exp ?? 0) * 1_000 : undefined
    return { result: 'accepted', username: named as string | undefined, isSuperuser: false, expiresAtMs, grants }
  }
}

function readClaim(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined
}

/** A claim with several values matches if one of them does, as `aud`. Nothing matches if an inserted value is empty. */
function matchesClaim(claim: unknown, expected: string): boolean {
  if (expected === '') return false
  if (Array.isArray(claim)) return claim.some((value) => matchesClaim(value, expected))
  return typeof claim === 'string' || typeof claim === 'number' || typeof claim === 'boolean'
    ? String(claim) === expected
    : false
}

/** The same response as for a wrong password. */
function refuse(why: string): Refused {
  return { result: 'refused', reason: reasonCodes.badUserNameOrPassword, why }
}
