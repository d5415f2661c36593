// Supported cipher suites of DTLS 1.2. All use AES-128 with authentication, and SHA-256.

export type KeyExchange = 'psk' | 'ecdhe-psk' | 'ecdhe-ecdsa' | 'ecdhe-rsa'

export interface CipherSuite {
  readonly id: number
  /** Name in OpenSSL, or in the IANA registry if OpenSSL has none. */
  readonly name: string
  readonly keyExchange: KeyExchange
  readonly cipher: 'aes-128-gcm' | 'aes-128-ccm'
  readonly tagBytes: 8 | 16
}

/** In order of preference. */
export const cipherSuites: readonly CipherSuite[] = [
  defineSuite(0xc02b, 'ECDHE-ECDSA-AES128-GCM-SHA256', 'ecdhe-ecdsa', 'aes-128-gcm'),
  defineSuite(0xc0ae, 'ECDHE-ECDSA-AES128-CCM8', 'ecdhe-ecdsa', 'aes-128-ccm', 8),
  defineSuite(0xc02f, 'ECDHE-RSA-AES128-GCM-SHA256', 'ecdhe-rsa', 'aes-128-gcm'),
  // RFC 8442.
  defineSuite(0xd003, 'ECDHE-PSK-AES128-CCM8-SHA256', 'ecdhe-psk', 'aes-128-ccm', 8),
  // RFC 6655.
  defineSuite(0xc0a8, 'PSK-AES128-CCM8', 'psk', 'aes-128-ccm', 8),
  defineSuite(0xc0a4, 'PSK-AES128-CCM', 'psk', 'aes-128-ccm'),
  // RFC 5487.
  defineSuite(0x00a8, 'PSK-AES128-GCM-SHA256', 'psk', 'aes-128-gcm'),
]

function defineSuite(
  id: number,
  name: string,
  keyExchange: KeyExchange,
  cipher: CipherSuite['cipher'],
  tagBytes: 8 | 16 = 16,
): CipherSuite {
  return { id, name, keyExchange, cipher, tagBytes }
}

/** Returns the suites of a list of names separated by colons, in its order. Undefined: a name is unknown. */
export function parseCipherSuites(names: string): readonly CipherSuite[] | undefined {
  const chosen = names.split(':').map((name) => cipherSuites.find((known) => known.name === name.trim()))
  return chosen.every((found) => found !== undefined) ? chosen : undefined
}
