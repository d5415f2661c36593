// Which sources of datagrams may be the same device.

import type { PeerAddress, StreamCredentials } from '../transports/index.ts'

/** Key for maps of peers: another association is another peer, at the same address too. */
export function toAssociationKey({ address, port, secure }: PeerAddress): string {
  if (secure === undefined) return `${address}|${port}`
  return secure.id === '' ? `${address}|${port}|` : secure.id
}

/**
 * Key for the message IDs of requests. A device that resumes its DTLS session after a lost response repeats the request in another association.
 * RFC 7252 9.1.1 matches messages by session and epoch, and each association begins with epoch 1. A device that begins another session may have
 * forgotten which message IDs it has used, so its requests are new.
 */
export function toRequestKey(peer: PeerAddress): string {
  const sessionId = peer.secure?.sessionId ?? ''
  return sessionId === '' ? toAssociationKey(peer) : `session ${sessionId}`
}

export function isSamePeer(one: PeerAddress | undefined, other: PeerAddress): boolean {
  return one?.address === other.address && one.port === other.port && one.secure?.id === other.secure?.id
}

/** Returns whether both have the same proven identity. Without one, they have none to compare. */
export function hasSameIdentity(one: PeerAddress, other: PeerAddress): boolean {
  return one.secure?.identity === other.secure?.identity
}

/** Returns whether `peer` may be a new address of the device whose last address is `known`. */
export function canBeSameDevice(known: PeerAddress, peer: PeerAddress): boolean {
  const [before, now] = [known.secure?.identity, peer.secure?.identity]
  return before === undefined && now === undefined ? known.address === peer.address : before === now
}

/** A peer in the form in which it is stored across restarts. */
export interface StoredPeer extends Pick<PeerAddress, 'address' | 'port'> {
  readonly secure?:
    | {
        readonly id: string
        readonly identity: string | undefined
        readonly credentials: {
          readonly pskIdentity: string | undefined
          /** Undefined also in records of earlier versions. `der`: base64. */
          readonly certificate: (Omit<Certificate, 'der'> & { readonly der: string }) | undefined
        }
      }
    | undefined
}

type Certificate = NonNullable<StreamCredentials['certificate']>

/** A restart ends the DTLS association of the peer: the device returns with the same identity. */
export function toStoredPeer({ address, port, secure }: PeerAddress): StoredPeer {
  if (secure === undefined) return { address, port }
  const { pskIdentity, certificate } = secure.credentials
  const der = certificate === undefined ? '' : Buffer.from(certificate.der).toString('base64')
  const proven = { pskIdentity, certificate: certificate === undefined ? undefined : { ...certificate, der } }
  return { address, port, secure: { id: '', identity: secure.identity, credentials: proven } }
}

export function restorePeer({ address, port, secure }: StoredPeer): PeerAddress {
  if (secure === undefined) return { address, port }
  const { pskIdentity, certificate } = secure.credentials
  const proven = certificate === undefined ? undefined : { ...certificate, der: Buffer.from(certificate.der, 'base64') }
  return { address, port, secure: { ...secure, credentials: { pskIdentity, certificate: proven } } }
}
