// Whether a token is good: signed by the key that we know, begun and not ended. The only place that knows the library.

import { decodeProtectedHeader, errors, jwtVerify, type JWTPayload } from 'jose'
import type { TokenKey } from './token-keys.ts'

export type Claims = JWTPayload

export type TokenCheck = { readonly claims: Claims } | { readonly problem: string }

/** Looks like a token: three parts, of which the first says how it is signed. */
const tokenForm = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/

/** What begins like a token is not taken for a password, however long it is. */
export const tokenBeginning = 'eyJ'

/** The header of what looks like a token; undefined: it is something else. */
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

/** Checks signature and times with one key. `nowMs` is the time for `exp` and `nbf`; a token that never ends is none. */
export async function checkToken(
  token: string,
  { key, algorithms }: TokenKey,
  { nowMs, leewayMs }: { readonly nowMs: number; readonly leewayMs: number },
): Promise<TokenCheck> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [...algorithms],
      clockTolerance: leewayMs / 1_000,
      currentDate: new Date(nowMs),
      requiredClaims: ['exp'],
    })
    return { claims: payload }
  } catch (error) {
    if (error instanceof errors.JOSEError) return { problem: wordsFor(error) }
    throw error
  }
}

function wordsFor(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'the token has ended'
  if (error instanceof errors.JWTClaimValidationFailed)
    return `the claim ${error.claim} of the token is missing or does not fit`
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature of the token is not right'
  return 'the token is malformed'
}
