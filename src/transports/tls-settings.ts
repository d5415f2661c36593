// What a TLS listener is set up with. Files, not their contents: they are read again when they change.

export interface CertificateFiles {
  /** PEM, with what it is signed by behind it. */
  readonly certFile: string
  /** PEM. */
  readonly keyFile: string
  readonly keyPassword: string | undefined
}

export interface NamedCertificateFiles extends CertificateFiles {
  /** By which problems call it. */
  readonly name: string
  readonly serverName: string
}

export interface TlsSettings {
  /** Undefined: for clients that have a pre-shared key only. */
  readonly certificate: CertificateFiles | undefined
  /** For clients that ask for one of these host names (SNI); `*.example.org` stands for one level. */
  readonly byServerName: readonly NamedCertificateFiles[]
  /** PEM: the authorities whose client certificates are believed. */
  readonly caFile: string | undefined
  /** PEM: certificates that have been revoked. */
  readonly crlFile: string | undefined
  /** Clients are asked for a certificate; one that is shown must be good. */
  readonly verifyPeer: boolean
  /** A client without a certificate is refused. */
  readonly failIfNoPeerCertificate: boolean
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  readonly maxVersion: 'TLSv1.2' | 'TLSv1.3'
  /** OpenSSL names of TLS 1.2 ciphers and TLS 1.3 suites, by colons; undefined: those of Node. */
  readonly ciphers: string | undefined
  /** Clients may come in by pre-shared keys, whether there is a file of them or not. */
  readonly takesKeys: boolean
  /** A key by its identity from each line: `identity:hex`. */
  readonly pskFile: string | undefined
  /** A handshake that takes longer is over. */
  readonly handshakeTimeoutMs: number
}
