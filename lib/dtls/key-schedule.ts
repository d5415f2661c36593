// Key derivation of DTLS 1.2: the pseudorandom function (RFC 5246 5) with SHA-256, and its results.

import { createHash, createHmac } from 'node:crypto'

const masterSecretBytes = 48
const verifyDataBytes = 12
const keyBytes = 16
const ivBytes = 4

export interface TrafficKeys {
  readonly clientKey: Buffer
  readonly serverKey: Buffer
  readonly clientIv: Buffer
  readonly serverIv: Buffer
}

/** The result has memory of its own: a part of the pool would keep 8 KiB as long as an association or its session lives. */
export function expandSecret(secret: Buffer, label: string, seed: Buffer, length: number): Buffer {
  const labelled = Buffer.concat([Buffer.from(label, 'latin1'), seed])
  const expanded = Buffer.alloc(length)
  let previous = labelled
  for (let made = 0; made < length;) {
    previous = createHmac('sha256', secret).update(previous).digest()
    made += createHmac('sha256', secret).update(previous).update(labelled).digest().copy(expanded, made)
  }
  return expanded
}

/** RFC 4279: `other` is the shared secret of a key agreement; default: zeros with the length of the key. */
export function derivePskPremaster(key: Uint8Array, other: Buffer = Buffer.alloc(key.length)): Buffer {
  const bytes = Buffer.alloc(4 + other.length + key.length)
  bytes.writeUInt16BE(other.length, 0)
  other.copy(bytes, 2)
  bytes.writeUInt16BE(key.length, 2 + other.length)
  bytes.set(key, 4 + other.length)
  return bytes
}

/** RFC 7627: bound to all messages up to ClientKeyExchange. */
export function deriveExtendedMasterSecret(premaster: Buffer, transcript: readonly Buffer[]): Buffer {
  return expandSecret(premaster, 'extended master secret', hashTranscript(transcript), masterSecretBytes)
}

export function derivePlainMasterSecret(premaster: Buffer, clientRandom: Buffer, serverRandom: Buffer): Buffer {
  return expandSecret(premaster, 'master secret', Buffer.concat([clientRandom, serverRandom]), masterSecretBytes)
}

export function deriveTrafficKeys(master: Buffer, clientRandom: Buffer, serverRandom: Buffer): TrafficKeys {
  const length = 2 * (keyBytes + ivBytes)
  const block = expandSecret(master, 'key expansion', Buffer.concat([serverRandom, clientRandom]), length)
  const ivs = 2 * keyBytes
  return {
    clientKey: block.subarray(0, keyBytes),
    serverKey: block.subarray(keyBytes, ivs),
    clientIv: block.subarray(ivs, ivs + ivBytes),
    serverIv: block.subarray(ivs + ivBytes),
  }
}

export function deriveVerifyData(master: Buffer, side: 'client' | 'server', transcript: readonly Buffer[]): Buffer {
  return expandSecret(master, `${side} finished`, hashTranscript(transcript), verifyDataBytes)
}

function hashTranscript(transcript: readonly Buffer[]): Buffer {
  const hash = createHash('sha256')
  for (const message of transcript) hash.update(message)
  return hash.digest()
}
