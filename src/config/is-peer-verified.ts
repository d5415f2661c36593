// Whether the certificate of the other side is checked: two spellings.

export interface PeerVerification {
  readonly verify_peer: boolean
  /** The setting in the form of EMQX; undefined: `verify_peer` applies. */
  readonly verify: 'verify_peer' | 'verify_none' | undefined
}

/** Whether the certificate of the other side of a connection is checked. */
export function isPeerVerified({ verify_peer: isVerified, verify }: PeerVerification): boolean {
  return verify === undefined ? isVerified : verify === 'verify_peer'
}
