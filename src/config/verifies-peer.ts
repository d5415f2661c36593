// Whether the certificate of the other side is checked: two spellings.

export interface PeerVerification {
  readonly verify_peer: boolean
  /** As EMQX writes it. Undefined: `verify_peer` says it. */
  readonly verify: 'verify_peer' | 'verify_none' | undefined
}

/** Whether the certificate of the other side of a connection is checked. */
export function verifiesPeer({ verify_peer: isVerified, verify }: PeerVerification): boolean {
  return verify === undefined ? isVerified : verify === 'verify_peer'
}
