// Current certificate files of TLS listeners, for users who have just replaced them.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { findQuicFilesProblem, findTlsFilesProblem } from '../../transports/index.ts'
import type { ListenerAddress } from './listener-addresses.ts'

/** A certificate file of a TLS listener. */
export type CertificateInForce = { readonly listener: string; readonly file: string } & (
  | { readonly endsAtMs: number; readonly problem?: undefined }
  /** The file is unusable; the listener continues with the certificate that it has read before. */
  | { readonly problem: string }
)

/** One for each certificate file. With a problem the listener continues with what it read before. */
export function readListenerCertificates(listeners: readonly ListenerAddress[]): CertificateInForce[] {
  return listeners.flatMap((listener) => {
    if (!('tls' in listener)) return []
    const { kind, name, tls } = listener
    const problem = (kind === 'quic' ? findQuicFilesProblem(tls) : findTlsFilesProblem(tls))?.message
    const pairs = [...(tls.certificate === undefined ? [] : [tls.certificate]), ...tls.byServerName]
    return pairs.map(({ certFile }): CertificateInForce => {
      const shown = { listener: `${kind}:${name}`, file: certFile }
      return problem === undefined ? { ...shown, endsAtMs: readExpiry(certFile) } : { ...shown, problem }
    })
  })
}

function readExpiry(file: string): number {
  return Date.parse(new X509Certificate(readFileSync(file)).validTo)
}
