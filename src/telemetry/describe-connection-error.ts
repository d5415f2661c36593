// Errors of outgoing connections as sentences: why the system or OpenSSL refused, and the remedy.

const texts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection is refused: no server listens there',
  ENOTFOUND: 'there is no host of this name',
  EAI_AGAIN: 'the name cannot be looked up now',
  ENETUNREACH: 'there is no route to this network',
  EHOSTUNREACH: 'there is no route to this host',
  ETIMEDOUT: 'there was no response in time',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  CERT_HAS_EXPIRED: 'the certificate of the server has expired: renew it there',
  CERT_NOT_YET_VALID: 'the certificate of the server is not valid yet: check the clocks',
  CERT_REVOKED: 'the certificate of the server is revoked',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS on this port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the server does not speak TLS on this port',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'the server accepts none of these TLS versions',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'the server requires a certificate of the client',
  HPE_INVALID_CONSTANT: 'the server does not speak HTTP on this port',
}

/** Node's codes of a certificate whose authority is not trusted. */
const untrusted: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** `trust`: the option or setting that names a trusted authority. */
export function describeConnectionError(error: Error, trust: string): string {
  const { code = '', message } = findInnermostError(error)
  if (untrusted.has(code))
    return `the certificate of the server is not signed by a trusted authority: name its authority in ${trust}`
  // The message of Node contains the names of the certificate, which are texts of an unknown server.
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'the certificate of the server is for other names than that of this address: use one of them'
  return texts[code] ?? describeOpensslReason(message) ?? message
}

/** A system call, a code of the system, and the address, in a message of Node or of a library that quotes it. */
const systemMessage = /\b(?:connect|getaddrinfo|read|write) (E[A-Z]+[A-Z_]*)(?: ([\w.:[\]-]+))?/

/**
 * Like `connectionErrorText`, with the address, for errors of libraries: their message may contain the message of the
 * system, and a service may have several servers.
 */
export function describeServiceError(error: Error, trust: string): string {
  const inner: NodeJS.ErrnoException & { readonly address?: string; readonly port?: number } = findInnermostError(error)
  const text = describeConnectionError(inner, trust)
  if (text !== inner.message)
    return inner.address === undefined ? text : `${text} (${inner.address}:${inner.port ?? ''})`
  return text.replace(systemMessage, (all: string, code: string, address: string | undefined) => {
    const sentence = texts[code]
    if (sentence === undefined) return all
    return address === undefined ? sentence : `${sentence} (${address})`
  })
}

/** If several addresses were tried, returns the error of the last one. */
export function findInnermostError(error: Error): NodeJS.ErrnoException {
  if (!(error instanceof AggregateError)) return error
  return (error.errors.at(-1) as NodeJS.ErrnoException | undefined) ?? error
}

/** A failed write (`EPROTO`) has OpenSSL's reason in its message, between numbers and source lines. */
function describeOpensslReason(message: string): string | undefined {
  const [, reason] = /error:[\dA-Fa-f]+:[^:]*:[^:]*:([^:]+)/.exec(message) ?? []
  if (reason === undefined) return undefined
  return texts[`ERR_SSL_${reason.trim().toUpperCase().replaceAll(' ', '_')}`] ?? reason.trim()
}
