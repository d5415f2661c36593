// Certificates for tests, made when they are needed: no file expires, and no other program is needed. DER by hand
// needs a dozen lines: a tag, a length, and the content.

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

export interface Named {
  readonly certificate: string
  readonly key: string
}

export interface CertificateOptions {
  /** The names of the subject, in the order of the certificate: the least specific first. Default: CN only, the name. */
  readonly subject?: readonly (readonly [keyof typeof attributeTypes, string])[]
  readonly hostNames?: readonly string[]
  readonly from?: Date
  readonly until?: Date
}

interface RevocationListOptions {
  readonly from?: Date
  readonly until?: Date
  /** Extensions of the revocation list, and of each of its entries. */
  readonly ofList?: readonly Buffer[]
  readonly ofEntries?: readonly Buffer[]
}

const attributeTypes = { CN: '550403', C: '550406', O: '55040a', OU: '55040b' }
const ecdsaWithSha256 = '06082a8648ce3d040302'
const day = 86_400_000

/** A certificate authority that issues certificates, and a list of those that it revokes. */
export class Authority {
  readonly certificate: string
  readonly #name: Buffer
  readonly #key: KeyObject

  /** `by` is the issuer; default: self-signed. */
  constructor(name: string, by?: Authority) {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#key = privateKey
    this.#name = nameOf([['CN', name]])
    const isAuthority = extension('551d13', sequence(boolean(true)), true)
    const wanted = [publicKey, this.#name, {}, [isAuthority]] as const
    this.certificate = by === undefined ? this.#sign(...wanted) : by.#sign(...wanted)
  }

  /** A certificate and its key, both PEM. */
  issue(name: string, options: CertificateOptions = {}): Named {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const hosts = options.hostNames ?? []
    const extensions = hosts.length === 0 ? [] : [extension('551d11', sequence(...hosts.map(generalName)))]
    return {
      certificate: this.#sign(publicKey, nameOf(options.subject ?? [['CN', name]]), options, extensions),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    }
  }

  /** PEM: the list of its revoked certificates. */
  revoke(...certificates: readonly string[]): string {
    return this.#list(certificates, {})
  }

  /** The same list, which expires at this time. */
  revokeUntil(until: Date, ...certificates: readonly string[]): string {
    return this.#list(certificates, { until })
  }

  /** The same list, which was issued this time ago. */
  revokedBefore(ageMs: number, ...certificates: readonly string[]): string {
    return this.#list(certificates, { from: new Date(Date.now() - ageMs) })
  }

  /** The same list, with an extension of the list or of an entry, which may be critical. */
  revokeOnly(about: 'list' | 'entry', isCritical: boolean, ...certificates: readonly string[]): string {
    const distributionPoint = extension('551d1c', sequence(), isCritical)
    const certificateIssuer = extension('551d1d', sequence(), isCritical)
    const entryExtensions = about === 'list' ? { ofList: [distributionPoint] } : { ofEntries: [certificateIssuer] }
    return this.#list(certificates, entryExtensions)
  }

  #list(certificates: readonly string[], options: RevocationListOptions): string {
    const now = Date.now()
    const { from = new Date(now - day), until = new Date(now + 30 * day), ofList = [], ofEntries = [] } = options
    const entryExtensions = ofEntries.length === 0 ? [] : [sequence(...ofEntries)]
    const entries = certificates.map((pem) =>
      sequence(serialNumberOf(pem), time(new Date(now - day)), ...entryExtensions),
    )
    const list = sequence(
      element(0x02, Buffer.of(1)),
      algorithm,
      this.#name,
      time(from),
      time(until),
      ...(entries.length === 0 ? [] : [sequence(...entries)]),
      ...(ofList.length === 0 ? [] : [element(0xa0, sequence(...ofList))]),
    )
    return pem('X509 CRL', this.#signed(list))
  }

  #sign(publicKey: KeyObject, subject: Buffer, options: CertificateOptions, extensions: readonly Buffer[]): string {
    const spki = publicKey.export({ type: 'spki', format: 'der' })
    const keyIdentifier = createHash('sha1').update(spki).digest()
    const from = options.from ?? new Date(Date.now() - day)
    const until = options.until ?? new Date(Date.now() + 30 * day)
    const certificate = sequence(
      element(0xa0, element(0x02, Buffer.of(2))),
      element(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
      algorithm,
      this.#name,
      sequence(time(from), time(until)),
      subject,
      spki,
      element(0xa3, sequence(extension('551d0e', element(0x04, keyIdentifier)), ...extensions)),
    )
    return pem('CERTIFICATE', this.#signed(certificate))
  }

  #signed(content: Buffer): Buffer {
    return sequence(
      content,
      algorithm,
      element(0x03, Buffer.concat([Buffer.of(0), sign('sha256', content, this.#key)])),
    )
  }
}

function element(tag: number, content: Buffer): Buffer {
  const { length } = content
  const head =
    length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from(head), content])
}

const sequence = (...parts: readonly Buffer[]): Buffer => element(0x30, Buffer.concat(parts))
const boolean = (value: boolean): Buffer => element(0x01, Buffer.of(value ? 255 : 0))
const identifier = (hex: string): Buffer => element(0x06, Buffer.from(hex, 'hex'))
const algorithm = sequence(Buffer.from(ecdsaWithSha256, 'hex'))

function nameOf(parts: readonly (readonly [keyof typeof attributeTypes, string])[]): Buffer {
  return sequence(
    ...parts.map(([type, value]) =>
      element(0x31, sequence(identifier(attributeTypes[type]), element(0x0c, Buffer.from(value)))),
    ),
  )
}

function time(date: Date): Buffer {
  return element(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`))
}

function extension(type: string, value: Buffer, isCritical = false): Buffer {
  return sequence(identifier(type), ...(isCritical ? [boolean(true)] : []), element(0x04, value))
}

/** A host name, or an IPv4 address. */
function generalName(host: string): Buffer {
  const isAddress = /^[0-9.]+$/.test(host)
  return isAddress ? element(0x87, Buffer.from(host.split('.').map(Number))) : element(0x82, Buffer.from(host))
}

/** The encoding in the certificate: after the version, which each of them has. */
function serialNumberOf(certificate: string): Buffer {
  const der = Buffer.from(certificate.replace(/-----[^-]+-----|\s/g, ''), 'base64')
  const at = der.indexOf(Buffer.from('a003020102', 'hex')) + 5
  return der.subarray(at, at + 2 + (der[at + 1] ?? 0))
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
