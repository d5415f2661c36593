// Reads properties of a client's certificate.

import type { X509Certificate } from 'node:crypto'

export interface PeerCertificate {
  readonly commonName: string | undefined
  /** RFC 4514, most specific first: `CN=device-7,O=Plant`. */
  readonly subject: string
  readonly serialNumber: string
  /** SHA-256, lower-case hex without colons. */
  readonly fingerprint: string
  readonly der: Uint8Array
}

export function toPeerCertificate(certificate: X509Certificate): PeerCertificate {
  return {
    commonName: readCommonName(certificate),
    subject: formatSubject(certificate),
    serialNumber: certificate.serialNumber,
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    der: certificate.raw,
  }
}

/** Returns the common name; the most specific one if there are several. */
function readCommonName(certificate: X509Certificate): string | undefined {
  const { CN: names } = certificate.toLegacyObject().subject as { readonly CN?: string | readonly string[] }
  const name = typeof names === 'object' ? names.at(-1) : names
  // Valid names do not contain such characters; other code might end the name there.
  return name === undefined || /\p{Cc}/u.test(name) ? undefined : name
}

/** Returns the subject in the form of RFC 4514. Node returns a line for each part, the least specific first, with the escapes of RFC 4514. */
function formatSubject(certificate: X509Certificate): string {
  return (certificate.subject ?? '')
    .split('\n')
    .filter((part) => part !== '')
    .reverse()
    .join(',')
    .replaceAll(' + ', '+')
}
