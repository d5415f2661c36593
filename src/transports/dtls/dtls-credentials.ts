// What a DTLS server shows, and what it takes of its clients.

import type { KeyObject } from 'node:crypto'
import type { CipherSuite } from './cipher-suites.ts'
import type { ClientTrust } from './client-trust.ts'

export interface DtlsCertificate {
  /** DER, its own first. */
  readonly chain: readonly Buffer[]
  readonly key: KeyObject
}

export interface DtlsCredentials {
  /** The most wanted first. */
  readonly suites: readonly CipherSuite[]
  readonly certificate: DtlsCertificate | undefined
  /** Undefined: clients are not asked for certificates. */
  readonly clients: { readonly trust: ClientTrust; readonly isRequired: boolean } | undefined
  findKey(identity: string): Uint8Array | undefined
}
