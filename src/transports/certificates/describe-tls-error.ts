// Texts for errors of OpenSSL, with the remedy.

/** By the code that Node derives from OpenSSL's error. */
const handshakeTexts: Readonly<Record<string, string>> = {
  ERR_SSL_WRONG_VERSION_NUMBER:
    'the client did not speak TLS: configure TLS in the client (mqtts://), or let it use a listener without TLS',
  ERR_SSL_HTTP_REQUEST: 'the client sent HTTP without TLS: use https:// or wss:// in the client',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'the client offers no TLS version that tls_versions of the listener allows',
  ERR_SSL_NO_SHARED_CIPHER: 'client and listener have no cipher in common: see the setting ciphers',
  ERR_SSL_NO_SUITABLE_SIGNATURE_ALGORITHM: 'the client accepts no signature that the key of this listener can make',
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: 'the client sent no certificate',
  ERR_SSL_CERTIFICATE_VERIFY_FAILED: 'the certificate of the client is not valid',
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA:
    'the client does not know the authority of this certificate: give it the CA certificate',
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    'the client reports that the certificate of this listener has expired: renew it',
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    'the client does not accept the certificate of this listener: check its name, its dates and its authority',
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE:
    'the client does not accept the certificate of this listener: check its name, its dates and its authority',
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: 'the client found no TLS parameters that both sides accept',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'the client accepts no TLS version that this listener offers',
  ERR_SSL_UNEXPECTED_EOF_WHILE_READING: 'the client closed the connection during the TLS handshake',
  ECONNRESET: 'the client closed the connection during the TLS handshake',
  EPIPE: 'the client closed the connection during the TLS handshake',
}

/** By Node's reason for an invalid certificate. */
const certificateTexts: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'no authority in cacertfile has issued it',
  UNABLE_TO_GET_ISSUER_CERT: 'the certificate of its issuer is missing in cacertfile',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'no authority in cacertfile has issued it',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed and not in cacertfile',
  SELF_SIGNED_CERT_IN_CHAIN: 'the authority of its chain is not in cacertfile',
  CERT_SIGNATURE_FAILURE: 'its signature is not that of the authority in cacertfile',
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet: check the clocks',
  CERT_REVOKED: 'it is revoked by crlfile',
  UNABLE_TO_GET_CRL: 'crlfile has no list of its authority',
  CRL_HAS_EXPIRED: 'the list of its authority in crlfile has expired: renew it',
  INVALID_PURPOSE: 'it is not made for TLS clients (extended key usage)',
}

/** Returns why a handshake failed. The client controls no part of the text. */
export function describeHandshakeError(error: Error): string {
  const { code = '' } = error as NodeJS.ErrnoException
  return handshakeTexts[code] ?? `TLS handshake failed: ${readOpenSslReason(error)}`
}

/** Returns why a client's certificate is invalid. */
export function describeCertificateError(reason: string): string {
  return certificateTexts[reason] ?? reason.toLowerCase().replaceAll('_', ' ')
}

/** Returns the reason without OpenSSL's numbers and source lines. */
export function readOpenSslReason(error: Error): string {
  const { reason } = error as Error & { readonly reason?: unknown }
  if (typeof reason === 'string' && reason !== '') return reason
  const [, found] = /error:[\dA-Fa-f]+:[^:]*:[^:]*:([^:]+)/.exec(error.message) ?? []
  return found?.trim() ?? error.message
}
