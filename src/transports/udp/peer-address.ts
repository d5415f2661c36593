// Sources of datagrams.

import type { StreamCredentials } from '../streams/byte-stream.ts'

/** Source of a datagram, and destination of responses. */
export interface PeerAddress {
  /** Address as text, without brackets. */
  readonly address: string
  readonly port: number
  /** DTLS association; undefined: without DTLS. */
  readonly secure?: SecurePeer | undefined
}

/** The DTLS association of a datagram. At one time, an address and port have one association; a later one replaces it. */
export interface SecurePeer {
  /** Unique for the association. '': it ended with an earlier process of the broker. */
  readonly id: string
  /** The same for each association of the device; undefined: the device has no credentials. */
  readonly identity: string | undefined
  readonly credentials: StreamCredentials
  /** The same for each association that resumes the DTLS session. '' or undefined: it cannot be resumed. */
  readonly sessionId?: string | undefined
  /** Address at which the handshake was made. A device that uses a connection ID may send from another one. */
  readonly openedAt?: Pick<PeerAddress, 'address' | 'port'> | undefined
}
