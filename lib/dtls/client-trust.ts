// Verifies client certificates against the authorities of the listener (RFC 5280, section 6). OpenSSL does this within TLS, but Node
// does not offer it separately. A certificate with anything that this code does not know is rejected.

import { X509Certificate } from 'node:crypto'
import { readContent, derTags, sliceContent, MalformedDer, parseParts, readSequence } from '../certificates/index.ts'
import { HandshakeFailure } from './alerts.ts'

const maxChain = 8
const minRsaBits = 2_048
/** Larger keys take too long to verify. */
const maxRsaBits = 4_096
const clientAuthentication = '1.3.6.1.5.5.7.3.2'
const anyPurpose = '2.5.29.37.0'
/** Identifiers of extensions, DER in hexadecimal. */
const extensionIds = {
  keyUsage: '551d0f',
  subjectAltName: '551d11',
  basicConstraints: '551d13',
  extendedUsage: '551d25',
}
const understood: readonly string[] = Object.values(extensionIds)
const digitalSignature = 0x80
const signsCertificates = 0x04

interface Limits {
  /** Maximum number of intermediate authorities below this one. */
  readonly pathLength: number
  /** First byte of the key usage bits; undefined: the key may be used for everything. */
  readonly keyUsage: number | undefined
}

export class ClientTrust {
  readonly #authorities: readonly X509Certificate[]

  /** `authorities`: certificates in PEM. */
  constructor(authorities: Buffer | undefined) {
    const blocks = authorities?.toString('latin1').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)
    this.#authorities = (blocks ?? []).map((block) => new X509Certificate(block))
  }

  /**
   * Returns the client's certificate from a chain in DER, its own first. Throws HandshakeFailure if it is not trusted.
   */
  verify(chain: readonly Buffer[], nowMs: number): X509Certificate {
    const [own, ...others] = chain.map(readCertificate)
    if (own === undefined) throw new HandshakeFailure('badCertificate', 'the client sent no certificate')
    expectGoodKey(own)
    if (own.keyUsage !== undefined && !own.keyUsage.some((use) => use === clientAuthentication || use === anyPurpose))
      throw new HandshakeFailure('unsupportedCertificate', 'its certificate is not one for clients')
    const { keyUsage } = readCertificateLimits(own)
    if (keyUsage !== undefined && (keyUsage & digitalSignature) === 0)
      throw new HandshakeFailure('unsupportedCertificate', 'the key of its certificate may not sign')
    this.#verifyChain(own, others, nowMs)
    return own
  }

  #verifyChain(own: X509Certificate, others: X509Certificate[], nowMs: number): void {
    let current = own
    for (let between = 0; between < maxChain; between += 1) {
      expectValidAt(current, nowMs)
      if (this.#authorities.some(({ raw }) => raw.equals(current.raw))) return
      expectGoodSignature(current)
      const anchor = this.#authorities.find((authority) => isIssuer(authority, current))
      if (anchor !== undefined) {
        expectAuthority(anchor, between, nowMs)
        return
      }
      const next = others.find((other) => isIssuer(other, current))
      if (next === undefined) break
      others.splice(others.indexOf(next), 1)
      expectGoodKey(next)
      expectAuthority(next, between, nowMs)
      current = next
    }
    throw new HandshakeFailure('unknownCa', 'its certificate is of an authority that is not in cacertfile')
  }
}

function readCertificate(der: Buffer): X509Certificate {
  try {
    return new X509Certificate(der)
  } catch {
    throw new HandshakeFailure('badCertificate', 'its certificate cannot be read')
  }
}

function isIssuer(authority: X509Certificate, certificate: X509Certificate): boolean {
  try {
    return certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
  } catch {
    // OpenSSL cannot use the key, so the key has signed nothing that is valid.
    return false
  }
}

/** `between`: number of authorities between it and the client's certificate. */
function expectAuthority(authority: X509Certificate, between: number, nowMs: number): void {
  expectValidAt(authority, nowMs)
  const { pathLength, keyUsage } = readCertificateLimits(authority)
  if (!authority.ca || between > pathLength || (keyUsage !== undefined && (keyUsage & signsCertificates) === 0))
    throw new HandshakeFailure(
      'badCertificate',
      'an issuer in its chain is not an authority, or may not issue this certificate',
    )
}

function expectValidAt({ validFromDate, validToDate }: X509Certificate, nowMs: number): void {
  if (nowMs < validFromDate.getTime() || nowMs > validToDate.getTime())
    throw new HandshakeFailure('certificateExpired', 'its certificate has expired or is not valid yet')
}

function expectGoodSignature(certificate: X509Certificate): void {
  if (/md[245]|sha-?1(?!\d)/i.test(certificate.signatureAlgorithm ?? ''))
    throw new HandshakeFailure('badCertificate', 'its certificate is signed with SHA-1 or MD5')
}

function expectGoodKey({ publicKey }: X509Certificate): void {
  const { modulusLength } = publicKey.asymmetricKeyDetails ?? {}
  const isGood =
    publicKey.asymmetricKeyType === 'ec' ||
    (publicKey.asymmetricKeyType === 'rsa' &&
      modulusLength !== undefined &&
      modulusLength >= minRsaBits &&
      modulusLength <= maxRsaBits)
  if (!isGood)
    throw new HandshakeFailure(
      'unsupportedCertificate',
      'its certificate has neither an ECDSA key nor an RSA key of 2048 to 4096 bits',
    )
}

/** Returns the restrictions in its extensions. */
function readCertificateLimits(certificate: X509Certificate): Limits {
  try {
    return readLimits(certificate.raw)
  } catch (error) {
    if (!(error instanceof MalformedDer)) throw error
    throw new HandshakeFailure('badCertificate', `its certificate cannot be checked: ${error.message}`)
  }
}

function readLimits(der: Buffer): Limits {
  const [signed] = parseParts(readSequence(der))
  const extensions = parseParts(readContent(signed, derTags.sequence)).find(({ tag }) => tag === derTags.context3)
  let limits: Limits = { pathLength: maxChain, keyUsage: undefined }
  if (extensions === undefined) return limits
  for (const extension of parseParts(readSequence(sliceContent(extensions)))) {
    const [identifier, ...rest] = parseParts(readContent(extension, derTags.sequence))
    const id = readContent(identifier, derTags.identifier).toString('hex')
    const value = readContent(rest.at(-1), derTags.bytes)
    if (rest[0]?.tag === derTags.boolean && !understood.includes(id))
      throw new MalformedDer('it has an unknown critical extension')
    if (id === extensionIds.basicConstraints) limits = { ...limits, pathLength: parsePathLength(value) }
    // The first byte of a bit string is the number of unused bits in the last byte.
    if (id === extensionIds.keyUsage)
      limits = { ...limits, keyUsage: readContent(parseParts(value)[0], derTags.bits)[1] ?? 0 }
  }
  return limits
}

function parsePathLength(value: Buffer): number {
  const length = parseParts(readSequence(value)).find(({ tag }) => tag === derTags.integer)
  if (length === undefined) return maxChain
  const [first = 0, ...others] = sliceContent(length)
  return others.length > 0 ? maxChain : first
}
