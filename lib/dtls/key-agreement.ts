// Key agreement over elliptic curves (RFC 8422); each key is used once.

import { createECDH, createPublicKey, diffieHellman, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { HandshakeFailure } from './alerts.ts'

export const groups = { x25519: 29, secp256r1: 23 } as const

export interface KeyAgreement {
  readonly group: number
  readonly publicKey: Buffer
  /** Returns the shared secret. Throws HandshakeFailure if the other key is invalid. */
  agree(otherPublicKey: Buffer): Buffer
}

const x25519Bytes = 32
/** Prefix of the raw key in SubjectPublicKeyInfo. */
const x25519Prefix = Buffer.from('302a300506032b656e032100', 'hex')

/** Returns a group that the client supports; undefined if there is none. Without a list P-256 is assumed. */
export function chooseGroup(offered: readonly number[] | undefined): number | undefined {
  if (offered === undefined) return groups.secp256r1
  return [groups.x25519, groups.secp256r1].find((group) => offered.includes(group))
}

export function beginAgreement(group: number): KeyAgreement {
  return group === groups.x25519 ? beginX25519() : beginP256()
}

function beginX25519(): KeyAgreement {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  return {
    group: groups.x25519,
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).subarray(x25519Prefix.length),
    agree(other) {
      if (other.length !== x25519Bytes) throw createKeyError()
      const key = createPublicKey({ key: Buffer.concat([x25519Prefix, other]), type: 'spki', format: 'der' })
      return computeSharedSecret(privateKey, key)
    },
  }
}

function computeSharedSecret(privateKey: KeyObject, publicKey: KeyObject): Buffer {
  try {
    return diffieHellman({ privateKey, publicKey })
  } catch {
    // OpenSSL rejects a point of small order.
    throw createKeyError()
  }
}

function beginP256(): KeyAgreement {
  const ecdh = createECDH('prime256v1')
  const publicKey = ecdh.generateKeys()
  return {
    group: groups.secp256r1,
    publicKey,
    agree(other) {
      try {
        return ecdh.computeSecret(other)
      } catch {
        throw createKeyError()
      }
    },
  }
}

function createKeyError(): HandshakeFailure {
  return new HandshakeFailure('illegalParameter', 'the public key of the client is none of the group')
}
