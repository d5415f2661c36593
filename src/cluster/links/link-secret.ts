// Proof of a shared secret in both directions: each side sends a random challenge, and proves with a keyed hash over both challenges that it
// has the secret. The role is part of the hash, so a proof cannot be sent back to its author.
//
//   dialer                                  acceptor
//     |----- challenge (own) ---------------->|
//     |<---- challenge (own) ------------------|
//     |----- proof: dialer -------------------->|   the acceptor proves nothing before it has checked this
//     |<---- proof: acceptor -------------------|
//
// Without a secret (TLS with certificates only) both proofs are empty.

import { LinkFailure } from './link-failure.ts'

export type LinkRole = 'dialer' | 'acceptor'

/** What the proofs need from outside of this module, which has neither random numbers nor cryptography. */
export interface LinkSecret {
  /** Returns `proofBytes` bytes: HMAC-SHA-256 of `text` with the secret as its key. */
  computeProof(text: Uint8Array): Uint8Array
  /** Compares in a time that does not depend on the content. */
  isEqual(one: Uint8Array, other: Uint8Array): boolean
}

export const challengeBytes = 32
export const proofBytes = 32

const noProof = Buffer.alloc(0)
const contexts: Readonly<Record<LinkRole, Buffer>> = {
  dialer: Buffer.from('godwit cluster link, dialer\0'),
  acceptor: Buffer.from('godwit cluster link, acceptor\0'),
}

export interface Challenges {
  readonly dialer: Uint8Array
  readonly acceptor: Uint8Array
}

/** Returns the proof of `role`; empty without a secret. */
export function createProof(secret: LinkSecret | undefined, role: LinkRole, challenges: Challenges): Uint8Array {
  if (secret === undefined) return noProof
  return secret.computeProof(Buffer.concat([contexts[role], challenges.dialer, challenges.acceptor]))
}

/** Throws `LinkFailure` if `proof` is not that of `role`. */
export function checkProof(
  secret: LinkSecret | undefined,
  role: LinkRole,
  challenges: Challenges,
  proof: Uint8Array,
): void {
  const expected = createProof(secret, role, challenges)
  const isRight = proof.length === expected.length && (secret === undefined || secret.isEqual(proof, expected))
  if (!isRight) throw new LinkFailure('authentication', 'the other node does not have the same cluster.secret')
}
