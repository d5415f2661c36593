// Credentials of a DTLS server, and the accepted credentials of clients.

import type { KeyObject } from 'node:crypto'
import type { CipherSuite } from './cipher-suites.ts'
import type { ClientTrust } from './client-trust.ts'
import type { PeerCertificate } from '../certificates/index.ts'

export interface DtlsCertificate {
  /** DER, its own first. */
  readonly chain: readonly Buffer[]
  readonly key: KeyObject
}

export interface DtlsCredentials {
  /** In order of preference. */
  readonly suites: readonly CipherSuite[]
  readonly certificate: DtlsCertificate | undefined
  /** Undefined: no client certificates are requested. */
  readonly clients: { readonly trust: ClientTrust; readonly isRequired: boolean } | undefined
  findKey(identity: string): Uint8Array | undefined
}

/** Credentials that were verified in the handshake. */
export interface ClientCredentials {
  readonly certificate: PeerCertificate | undefined
  /** The identity of the client's key. */
  readonly pskIdentity: string | undefined
}
