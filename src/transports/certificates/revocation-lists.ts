// Certificate revocation lists (RFC 5280, section 5) for QUIC, whose library does not support them. For TLS OpenSSL checks them; the
// results here are the same.
//
//   CertificateList { { version?, algorithm, issuer, thisUpdate, nextUpdate?, [ { serial, date, extensions? } ]?, [0]? }, algorithm, signature }
//   Certificate     { { [0] version?, serial, algorithm, issuer, validity, subject, ... }, algorithm, signature }
//
// DER is parsed here, and only these structures: libraries for DER (asn1js and those based on it) fail at about ten thousand DER elements,
// which the list of an authority with many devices has, and block the thread many times longer for smaller lists.
//
// A list applies if its authority has signed it. Certificates of an authority without a list, or with an expired one, are rejected:
// otherwise the broker would accept certificates that were revoked after the list expired.

import { type KeyObject, verify, X509Certificate } from 'node:crypto'
import {
  readContent,
  derTags as tags,
  sliceContent,
  MalformedDer,
  type Part,
  parseParts,
  readSequence,
  readWhole,
} from '../../../lib/certificates/index.ts'

export interface RevocationLists {
  /** Returns why a client with these certificates (DER, its own first) is rejected; undefined if it is accepted. */
  findRefusal(certificates: readonly Uint8Array[], nowMs: number): string | undefined
}

/** The list is valid DER, but cannot be used. The message is the end of a sentence. */
class UnusableList extends Error {}

interface List {
  /** The name of the authority, as in its certificates. */
  readonly issuer: string
  readonly serials: ReadonlySet<string>
  readonly beginsAtMs: number
  readonly endsAtMs: number
}

/** Maximum certificates between a client and a trusted authority. */
const maxChain = 16

/** Hashes by the identifier of the signature algorithm, in hexadecimal. Ed25519 has its own. */
const hashes: ReadonlyMap<string, string | undefined> = new Map([
  ['2a864886f70d01010b', 'sha256'],
  ['2a864886f70d01010c', 'sha384'],
  ['2a864886f70d01010d', 'sha512'],
  ['2a8648ce3d040302', 'sha256'],
  ['2a8648ce3d040303', 'sha384'],
  ['2a8648ce3d040304', 'sha512'],
  ['2b6570', undefined],
])

/**
 * Reads the lists and verifies them with the authorities, both in PEM. Returns the end of an error text if the file is
 * invalid.
 */
export function readRevocationLists(
  pem: string,
  authorities: string,
): { readonly lists: RevocationLists } | { readonly problem: string } {
  const authorityCertificates = findPemBlocks(authorities, 'CERTIFICATE').map((block) => new X509Certificate(block))
  const lists = new Map<string, List>()
  for (const [index, block] of findPemBlocks(pem, 'X509 CRL').entries()) {
    try {
      const list = readList(decodePem(block), authorityCertificates)
      // A file to which new lists are appended contains older ones as well, in any order.
      if (list.beginsAtMs >= (lists.get(list.issuer)?.beginsAtMs ?? -Infinity)) lists.set(list.issuer, list)
    } catch (error) {
      if (!(error instanceof MalformedDer || error instanceof UnusableList)) throw error
      return { problem: `list ${index + 1}: ${error.message}` }
    }
  }
  const anchors = new Set(
    authorityCertificates.filter(isSelfIssued).map((certificate) => parseNames(certificate.raw).subject),
  )
  const others = authorityCertificates.map(({ raw }) => raw)
  return { lists: { findRefusal: (chain, nowMs) => checkChain([...chain, ...others], { lists, anchors, nowMs }) } }
}

/** Walks from the client's certificate to a self-signed authority. */
function checkChain(
  certificates: readonly Uint8Array[],
  known: { readonly lists: ReadonlyMap<string, List>; readonly anchors: ReadonlySet<string>; readonly nowMs: number },
): string | undefined {
  const { lists, anchors, nowMs } = known
  try {
    const all = certificates.map(parseNames)
    let currentCertificates = all.slice(0, 1)
    for (let step = 0; step < maxChain; step += 1) {
      const issuers = new Set(currentCertificates.map(({ issuer }) => issuer))
      for (const { issuer, serial } of currentCertificates) {
        const list = lists.get(issuer)
        if (list === undefined) return 'there is no list of revoked certificates of its authority'
        if (list.endsAtMs <= nowMs)
          return 'the list of revoked certificates of its authority has expired: install the current list'
        if (list.serials.has(serial)) return 'its certificate has been revoked'
      }
      if ([...issuers].every((issuer) => anchors.has(issuer))) return undefined
      currentCertificates = all.filter(({ subject }) => issuers.has(subject) && !anchors.has(subject))
    }
  } catch (error) {
    if (!(error instanceof MalformedDer)) throw error
  }
  return 'its certificate chain does not end at a self-signed certificate of cacertfile'
}

function readList(der: Buffer, authorityCertificates: readonly X509Certificate[]): List {
  const [signed, algorithm, signature] = parseParts(readSequence(der))
  const fields = parseParts(readContent(signed, tags.sequence))
  if (fields[0]?.tag === tags.integer) fields.shift()
  const [, name, begin, end, ...following] = fields
  const issuer = readWhole(name, tags.sequence).toString('hex')
  const keys = authorityCertificates
    .filter(({ raw }) => parseNames(raw).subject === issuer)
    .map(({ publicKey }) => publicKey)
  verifySignature(readWhole(signed, tags.sequence), { algorithm, signature, keys })
  const [beginsAtMs, endsAtMs] = [parseTime(begin), parseTime(end)]
  const entries = following[0]?.tag === tags.sequence ? parseParts(sliceContent(following[0])) : []
  const extensions = following.find(({ tag }) => tag === tags.context0)
  if (extensions !== undefined) rejectCriticalExtensions(readSequence(sliceContent(extensions)))
  return { issuer, serials: new Set(entries.map(readSerial)), beginsAtMs, endsAtMs }
}

/** `keys`: of the authorities with the name in the list. */
function verifySignature(
  signed: Buffer,
  by: {
    readonly algorithm: Part | undefined
    readonly signature: Part | undefined
    readonly keys: readonly KeyObject[]
  },
): void {
  if (by.keys.length === 0) throw new UnusableList('it is of an authority that is not in cacertfile')
  const [identifier] = parseParts(readContent(by.algorithm, tags.sequence))
  const name = readContent(identifier, tags.identifier).toString('hex')
  if (!hashes.has(name))
    throw new UnusableList(
      'its signature algorithm is not supported: use RSA or ECDSA with SHA-256, SHA-384 or SHA-512, or Ed25519',
    )
  // The first byte of a bit string is the number of unused bits in the last byte: 0 for a signature.
  const signature = readContent(by.signature, tags.bits).subarray(1)
  const isSigned = by.keys.some((key) => verify(hashes.get(name), signed, key, signature))
  if (!isSigned) throw new UnusableList('it is not signed by its authority')
}

function readSerial(entry: Part): string {
  const [serial, , extensions] = parseParts(readContent(entry, tags.sequence))
  if (extensions !== undefined) rejectCriticalExtensions(readContent(extensions, tags.sequence))
  return readContent(serial, tags.integer).toString('hex')
}

/** A critical extension may restrict the list to fewer or other certificates. */
function rejectCriticalExtensions(extensions: Buffer): void {
  for (const extension of parseParts(extensions)) {
    const [, critical] = parseParts(readContent(extension, tags.sequence))
    if (critical?.tag === tags.boolean) throw new UnusableList('it has a critical extension, which is not supported')
  }
}

function parseNames(certificate: Uint8Array): {
  readonly serial: string
  readonly issuer: string
  readonly subject: string
} {
  const [signed] = parseParts(readSequence(Buffer.from(certificate)))
  const fields = parseParts(readContent(signed, tags.sequence))
  if (fields[0]?.tag === tags.context0) fields.shift()
  const [serial, , issuer, , subject] = fields
  return {
    serial: readContent(serial, tags.integer).toString('hex'),
    issuer: readWhole(issuer, tags.sequence).toString('hex'),
    subject: readWhole(subject, tags.sequence).toString('hex'),
  }
}

function isSelfIssued({ raw }: X509Certificate): boolean {
  const { issuer, subject } = parseNames(raw)
  return issuer === subject
}

/** RFC 5280 4.1.2.5: without fractions, in UTC. */
function parseTime(part: Part | undefined): number {
  const text = part === undefined ? '' : sliceContent(part).toString('latin1')
  const full = part?.tag === tags.utcTime ? `${text < '5' ? '20' : '19'}${text}` : text
  const found =
    part?.tag === tags.utcTime || part?.tag === tags.time ? /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(full) : null
  if (found === null) throw new UnusableList('it has no valid start or end time')
  const [year, month, ...others] = found.slice(1).map(Number)
  return Date.UTC(year, month - 1, ...others)
}

function findPemBlocks(pem: string, label: string): string[] {
  return pem.match(new RegExp(`-----BEGIN ${label}-----[^-]+-----END ${label}-----`, 'g')) ?? []
}

function decodePem(block: string): Buffer {
  return Buffer.from(block.replace(/-----[^-]+-----/g, ''), 'base64')
}
