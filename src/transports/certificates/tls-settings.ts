// Settings of a TLS listener. They contain files, not their contents: these are read again when they change.

export interface CertificateFiles {
  /** PEM, followed by the certificates that signed it. */
  readonly certFile: string
  /** PEM. */
  readonly keyFile: string
  readonly keyPassword: string | undefined
}

export interface NamedCertificateFiles extends CertificateFiles {
  /** Name in problems. */
  readonly name: string
  readonly serverName: string
}

export interface TlsSettings {
  /** Undefined: only for clients with a pre-shared key. */
  readonly certificate: CertificateFiles | undefined
  /** For clients that request one of these host names (SNI); `*.example.org` stands for one level. */
  readonly byServerName: readonly NamedCertificateFiles[]
  /** PEM: trusted authorities of client certificates. */
  readonly caFile: string | undefined
  /** PEM: revoked certificates. */
  readonly crlFile: string | undefined
  /** A client certificate is requested; if the client sends one, it must be valid. */
  readonly verifyPeer: boolean
  /** A client without a certificate is refused. */
  readonly failIfNoPeerCertificate: boolean
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  readonly maxVersion: 'TLSv1.2' | 'TLSv1.3'
  /** OpenSSL names of TLS 1.2 ciphers and TLS 1.3 suites, separated by colons; undefined: Node's default. */
  readonly ciphers: string | undefined
  /** Clients may use pre-shared keys, with or without a key file. */
  readonly acceptsPsk: boolean
  /** Each line has an identity and its key: `identity:hex`. */
  readonly pskFile: string | undefined
  /** Maximum duration of a handshake. */
  readonly handshakeTimeoutMs: number
}
