// Signatures in a handshake. SHA-1 and MD5 are not supported.

import { constants, type KeyObject, sign, type SignKeyObjectInput, verify } from 'node:crypto'

interface SignatureAlgorithm {
  readonly id: number
  readonly key: 'ec' | 'rsa'
  readonly hash: 'sha256' | 'sha384' | 'sha512'
  readonly isPss: boolean
}

const algorithms: readonly SignatureAlgorithm[] = [
  { id: 0x0403, key: 'ec', hash: 'sha256', isPss: false },
  { id: 0x0503, key: 'ec', hash: 'sha384', isPss: false },
  { id: 0x0804, key: 'rsa', hash: 'sha256', isPss: true },
  { id: 0x0805, key: 'rsa', hash: 'sha384', isPss: true },
  { id: 0x0401, key: 'rsa', hash: 'sha256', isPss: false },
  { id: 0x0501, key: 'rsa', hash: 'sha384', isPss: false },
  { id: 0x0601, key: 'rsa', hash: 'sha512', isPss: false },
]

/** Algorithms that clients may use. */
export const signatureAlgorithmIds: readonly number[] = algorithms.map(({ id }) => id)

/** Returns an algorithm for the own key that the client supports; undefined if there is none. */
export function chooseSignature(key: KeyObject, offered: readonly number[] | undefined): number | undefined {
  return algorithms.find(
    ({ id, key: type, hash }) =>
      type === key.asymmetricKeyType && hash === 'sha256' && offered !== undefined && offered.includes(id),
  )?.id
}

export function signWith(id: number, key: KeyObject, content: Buffer): Buffer {
  const algorithm = algorithms.find((known) => known.id === id)
  if (algorithm === undefined) throw new TypeError(`the signature algorithm ${id} is unknown`)
  return sign(algorithm.hash, content, toKeyInput(algorithm, key))
}

/** Checks a signature. Returns false also if the algorithm does not fit the key. */
export function isSignedBy(key: KeyObject, id: number, content: Buffer, signature: Buffer): boolean {
  const algorithm = algorithms.find((known) => known.id === id)
  if (algorithm === undefined || algorithm.key !== key.asymmetricKeyType) return false
  return verify(algorithm.hash, content, toKeyInput(algorithm, key), signature)
}

function toKeyInput({ isPss }: SignatureAlgorithm, key: KeyObject): SignKeyObjectInput {
  if (!isPss) return { key }
  return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
}
