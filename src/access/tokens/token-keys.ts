// Keys that verify tokens. Each key is used only with algorithms of its kind: a token cannot make the broker use a
// public key as a secret [RFC8725-3.1].

import type { JwtConfig } from '../../config/index.ts'
import { createPublicKey, type KeyObject } from 'node:crypto'

/** The content of a key file, or the secret itself. */
export type TokenKeySource = JwtConfig['key']

export interface TokenKey {
  readonly algorithms: readonly string[]
  readonly key: KeyObject | Uint8Array
  /** The member `kid` of the key; undefined: the key is tried for every token. */
  readonly keyId: string | undefined
}

/** Limits the work for a token without a key ID, which is verified with each key that fits its algorithm. */
const maxKeys = 16
const minRsaBits = 2_048

const secretAlgorithms = ['HS256', 'HS384', 'HS512']

/** Returns the keys, or the end of a sentence that says what is wrong with the file. */
export function readTokenKeys(
  source: TokenKeySource,
): { readonly keys: readonly TokenKey[] } | { readonly problem: string } {
  switch (source.kind) {
    case 'secret':
      return { keys: [{ algorithms: secretAlgorithms, key: source.secret, keyId: undefined }] }
    case 'public-key':
      return readPem(source.text)
    case 'jwks':
      return readKeySet(source.text)
    default:
      return source satisfies never
  }
}

function readPem(text: string): { keys: TokenKey[] } | { problem: string } {
  if (text.includes('PRIVATE KEY'))
    return { problem: 'it contains a private key, which only the issuer of the tokens may have' }
  const key = parsePublicKey(text)
  if (key === undefined) return { problem: 'it contains no public key in PEM' }
  const algorithms = selectAlgorithms(key)
  if (algorithms === undefined) return { problem: unsupportedKind }
  return { keys: [{ algorithms, key, keyId: undefined }] }
}

const unsupportedKind = `the key is neither RSA of ${minRsaBits} bits or more, nor P-256, nor Ed25519`

function readKeySet(text: string): { keys: TokenKey[] } | { problem: string } {
  const entries = parseKeySet(text)
  if (entries === undefined) return { problem: 'it is not a JSON Web Key Set' }
  if (entries.length > maxKeys) return { problem: `it contains more than ${maxKeys} keys` }
  const keys: TokenKey[] = []
  for (const [index, entry] of entries.entries()) {
    const read = readEntry(entry)
    if (typeof read === 'string') return { problem: `key ${index + 1}: ${read}` }
    if (read !== undefined) keys.push(read)
  }
  return keys.length === 0 ? { problem: 'it contains no key that can verify tokens' } : { keys }
}

function parseKeySet(text: string): readonly unknown[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return isObject(parsed) && Array.isArray(parsed.keys) ? parsed.keys : undefined
  } catch {
    return undefined
  }
}

/** Reads one key of a set. Returns a sentence if the key must not be there, and undefined if it has another purpose. */
function readEntry(entry: unknown): TokenKey | string | undefined {
  if (!isObject(entry)) return 'it is not a key'
  if (entry.use !== undefined && entry.use !== 'sig') return undefined
  // A set of public keys may be published, so a secret in it is not secret.
  if (entry.kty === 'oct' || entry.k !== undefined) return 'it is a secret; secrets go into auth.jwt.secret'
  if (entry.d !== undefined) return 'it is a private key, which belongs to the issuer alone'
  const key = parsePublicKey(entry)
  if (key === undefined) return 'it is not a public key'
  const algorithms = selectAlgorithms(key)
  if (algorithms === undefined) return unsupportedKind
  if (entry.alg !== undefined && entry.alg !== algorithms[0]) return undefined
  return { algorithms, key, keyId: typeof entry.kid === 'string' ? entry.kid : undefined }
}

function parsePublicKey(key: string | Record<string, unknown>): KeyObject | undefined {
  try {
    return createPublicKey(typeof key === 'string' ? key : { key, format: 'jwk' })
  } catch {
    return undefined
  }
}

function selectAlgorithms(key: KeyObject): readonly string[] | undefined {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {}
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return modulusLength >= minRsaBits ? ['RS256'] : undefined
    case 'ec':
      return namedCurve === 'prime256v1' ? ['ES256'] : undefined
    case 'ed25519':
      return ['EdDSA', 'Ed25519']
    default:
      return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
