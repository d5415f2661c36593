// Verifies tokens: signature by a known key, and times; and signs tokens for tests. Only this file uses the library. Its parts are imported one by one:
// the bundle loads at the start what its main file names, and single sign-on needs encryption besides.

import { createPrivateKey, type KeyObject } from 'node:crypto'
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import * as errors from 'jose/errors'
import { SignJWT } from 'jose/jwt/sign'
import { jwtVerify } from 'jose/jwt/verify'
import type { JWTPayload } from 'jose'
import type { TokenKey } from './token-keys.ts'

export type Claims = JWTPayload

export type TokenCheck =
  | { readonly claims: Claims }
  | {
      readonly problem: string
      /** The token is valid except for its expiry. */
      readonly hasEnded: boolean
    }

export interface TokenTimes {
  /** The time for `exp` and `nbf`. */
  readonly nowMs: number
  /** Clocks differ: a token is valid this time before `nbf`. */
  readonly leewayMs: number
}

const tokenExpired = 'the token has expired'

/** The form of a token: three parts, of which the first is the header. */
const tokenForm = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/

/** A value with this prefix is never taken for a password, whatever its length. */
export const tokenPrefix = 'eyJ'

/** Returns the header of a token; undefined if the text is none. */
export function readTokenHeader(
  text: string,
): { readonly algorithm: string; readonly keyId: string | undefined } | undefined {
  if (!tokenForm.test(text)) return undefined
  try {
    const { alg, kid } = decodeProtectedHeader(text)
    return typeof alg === 'string' ? { algorithm: alg, keyId: typeof kid === 'string' ? kid : undefined } : undefined
  } catch {
    return undefined
  }
}

/** Verifies signature and times with one key. A token without expiry, or with a time that is not a number, is invalid. */
export async function checkToken(
  token: string,
  { key, algorithms }: TokenKey,
  { nowMs, leewayMs }: TokenTimes,
): Promise<TokenCheck> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [...algorithms],
      clockTolerance: leewayMs / 1_000,
      currentDate: new Date(nowMs),
      requiredClaims: ['exp'],
    })
    // The library applies the tolerance to `exp` too: an issuer's clock cannot extend the life of a token.
    if ((payload.exp ?? 0) * 1_000 <= nowMs) return { problem: tokenExpired, hasEnded: true }
    const problem = findTimeProblem(payload)
    return problem === undefined ? { claims: payload } : { problem, hasEnded: false }
  } catch (error) {
    if (error instanceof errors.JOSEError)
      return { problem: describeTokenProblem(error), hasEnded: error instanceof errors.JWTExpired }
    throw error
  }
}

/** Seconds since 1970 after which no date exists. A time beyond it, such as 1e999, would be an expiry that never comes. */
const latestSeconds = 8_640_000_000_000

/** [RFC7519-2] Times are numbers of seconds. The library has checked their types. */
function findTimeProblem(claims: Claims): string | undefined {
  for (const name of ['exp', 'nbf', 'iat'] as const) {
    const seconds = claims[name]
    if (seconds !== undefined && !(Math.abs(seconds) <= latestSeconds))
      return `the claim ${name} of the token is missing or does not fit`
  }
  return undefined
}

function describeTokenProblem(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return tokenExpired
  if (error instanceof errors.JWTClaimValidationFailed)
    return error.claim === 'nbf'
      ? 'the token is not yet valid (claim nbf)'
      : `the claim ${error.claim} of the token is missing or does not fit`
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature of the token does not match the key'
  return 'the token is malformed'
}

/** Returns a token with these claims, or the end of a sentence that says what is wrong with the private key (PEM). */
export async function signToken(
  claims: Claims,
  privateKey: string,
): Promise<{ readonly token: string } | { readonly problem: string }> {
  let key: KeyObject
  try {
    key = createPrivateKey(privateKey)
  } catch {
    return { problem: 'it contains no private key in PEM that can be read without a password' }
  }
  const alg = algorithmsByKind[key.asymmetricKeyType ?? '']
  if (alg === undefined) return { problem: 'the key is neither RSA, nor P-256, nor Ed25519' }
  try {
    return { token: await new SignJWT(claims).setProtectedHeader({ alg, typ: 'JWT' }).sign(key) }
  } catch (error) {
    return { problem: `the key cannot sign with ${alg}: ${(error as Error).message}` }
  }
}

const algorithmsByKind: Readonly<Record<string, string>> = { rsa: 'RS256', ec: 'ES256', ed25519: 'EdDSA' }
