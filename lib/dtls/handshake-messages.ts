// Encodes and decodes the handshake messages of a DTLS 1.2 server.

import { FieldReader, encodeUint16, encodeVector } from './field-reader.ts'
import { HandshakeFailure } from './alerts.ts'
import { dtls10, dtls12 } from './dtls-records.ts'

export const messageTypes = {
  clientHello: 1,
  serverHello: 2,
  helloVerifyRequest: 3,
  certificate: 11,
  serverKeyExchange: 12,
  certificateRequest: 13,
  serverHelloDone: 14,
  certificateVerify: 15,
  clientKeyExchange: 16,
  finished: 20,
} as const

export const extensionTypes = {
  supportedGroups: 10,
  pointFormats: 11,
  signatureAlgorithms: 13,
  extendedMasterSecret: 23,
  connectionId: 54,
  renegotiationInfo: 0xff01,
} as const

/** TLS_EMPTY_RENEGOTIATION_INFO_SCSV (RFC 5746). */
const renegotiationSignal = 0x00ff
const randomBytes = 32
const maxSessionIdBytes = 32
const maxConnectionIdBytes = 32
const maxCertificates = 8

export interface ClientHello {
  readonly random: Buffer
  readonly sessionId: Buffer
  readonly cookie: Buffer
  readonly suites: readonly number[]
  /** Undefined: absent. */
  readonly groups: readonly number[] | undefined
  /** Undefined: absent, which means SHA-1. */
  readonly signatureAlgorithms: readonly number[] | undefined
  readonly hasPointFormats: boolean
  readonly hasExtendedMasterSecret: boolean
  readonly hasRenegotiationInfo: boolean
  /** Connection ID for records to the client; undefined: not supported. */
  readonly connectionId: Buffer | undefined
  /** All parts of the message except the cookie, which is computed from them. */
  readonly withoutCookie: readonly Buffer[]
}

export function parseClientHello(body: Buffer): ClientHello {
  const reader = new FieldReader(body)
  const version = reader.uint(2)
  // A later version has a lower number; DTLS 1.3 is negotiated in an extension.
  if (version > dtls12 || version >> 8 !== dtls12 >> 8)
    throw new HandshakeFailure('protocolVersion', 'the client does not speak DTLS 1.2')
  const random = reader.take(randomBytes)
  const sessionId = reader.vector(1)
  if (sessionId.length > maxSessionIdBytes) throw new HandshakeFailure('decodeError', 'the session ID is too long')
  const beforeCookie = body.subarray(0, body.length - reader.left)
  const cookie = reader.vector(1)
  const afterCookie = body.subarray(body.length - reader.left)
  const suites = readUint16List(reader.vector(2))
  if (!reader.vector(1).includes(0)) throw new HandshakeFailure('illegalParameter', 'compression is not supported')
  const extensions = reader.left === 0 ? new Map<number, Buffer>() : parseExtensions(reader)
  reader.expectEnd()
  return {
    random,
    sessionId,
    cookie,
    suites,
    groups: readList(extensions.get(extensionTypes.supportedGroups)),
    signatureAlgorithms: readList(extensions.get(extensionTypes.signatureAlgorithms)),
    hasPointFormats: extensions.has(extensionTypes.pointFormats),
    hasExtendedMasterSecret: extensions.has(extensionTypes.extendedMasterSecret),
    hasRenegotiationInfo: readRenegotiation(suites, extensions.get(extensionTypes.renegotiationInfo)),
    connectionId: readConnectionId(extensions.get(extensionTypes.connectionId)),
    withoutCookie: [beforeCookie, afterCookie],
  }
}

function parseExtensions(reader: FieldReader): Map<number, Buffer> {
  const list = new FieldReader(reader.vector(2))
  const extensions = new Map<number, Buffer>()
  while (list.left > 0) {
    const type = list.uint(2)
    const content = list.vector(2)
    if (extensions.has(type)) throw new HandshakeFailure('illegalParameter', 'an extension is there twice')
    extensions.set(type, content)
  }
  return extensions
}

function readRenegotiation(suites: readonly number[], content: Buffer | undefined): boolean {
  // RFC 5746 3.6: empty in a first handshake.
  if (content !== undefined && !content.equals(Buffer.of(0)))
    throw new HandshakeFailure('handshakeFailure', 'renegotiation is not supported')
  return content !== undefined || suites.includes(renegotiationSignal)
}

function readConnectionId(content: Buffer | undefined): Buffer | undefined {
  if (content === undefined) return undefined
  const reader = new FieldReader(content)
  const id = reader.vector(1)
  reader.expectEnd()
  if (id.length > maxConnectionIdBytes) throw new HandshakeFailure('illegalParameter', 'the connection ID is too long')
  return id
}

function readList(content: Buffer | undefined): readonly number[] | undefined {
  if (content === undefined) return undefined
  const reader = new FieldReader(content)
  const list = readUint16List(reader.vector(2))
  reader.expectEnd()
  return list
}

function readUint16List(bytes: Buffer): readonly number[] {
  if (bytes.length % 2 !== 0) throw new HandshakeFailure('decodeError', 'a list has half an entry')
  const list: number[] = []
  for (let at = 0; at < bytes.length; at += 2) list.push(bytes.readUInt16BE(at))
  return list
}

/** The version of this message is always 1.0 [RFC6347-4.2.1]. */
export function writeHelloVerifyRequest(cookie: Buffer): Buffer {
  return Buffer.concat([encodeUint16(dtls10), encodeVector(1, cookie)])
}

export interface ServerHello {
  readonly random: Buffer
  readonly sessionId: Buffer
  readonly suite: number
  readonly extensions: readonly (readonly [type: number, content: Buffer])[]
}

export function writeServerHello({ random, sessionId, suite, extensions }: ServerHello): Buffer {
  const written = extensions.map(([type, content]) => Buffer.concat([encodeUint16(type), encodeVector(2, content)]))
  const noCompression = Buffer.of(0)
  const head = [encodeUint16(dtls12), random, encodeVector(1, sessionId), encodeUint16(suite), noCompression]
  return Buffer.concat(written.length === 0 ? head : [...head, encodeVector(2, Buffer.concat(written))])
}

export function writeCertificate(chain: readonly Buffer[]): Buffer {
  return encodeVector(3, Buffer.concat(chain.map((certificate) => encodeVector(3, certificate))))
}

/** DER, the client's own first. */
export function parseCertificate(body: Buffer): readonly Buffer[] {
  const reader = new FieldReader(body)
  const list = new FieldReader(reader.vector(3))
  reader.expectEnd()
  const chain: Buffer[] = []
  while (list.left > 0) {
    if (chain.length >= maxCertificates) throw new HandshakeFailure('badCertificate', 'it shows too many certificates')
    chain.push(list.vector(3))
  }
  return chain
}

/** RFC 8422 5.4: a named group and a point. */
export function writeAgreementParameters(group: number, publicKey: Buffer): Buffer {
  const namedCurve = 3
  return Buffer.concat([Buffer.of(namedCurve), encodeUint16(group), encodeVector(1, publicKey)])
}

/** The certificate types are ECDSA and RSA; the list of authorities is empty, because it would be long. */
export function writeCertificateRequest(signatureAlgorithms: readonly number[]): Buffer {
  const types = Buffer.of(64, 1)
  const algorithms = Buffer.concat(signatureAlgorithms.map(encodeUint16))
  return Buffer.concat([encodeVector(1, types), encodeVector(2, algorithms), encodeVector(2, Buffer.alloc(0))])
}

export function parseCertificateVerify(body: Buffer): { readonly algorithm: number; readonly signature: Buffer } {
  const reader = new FieldReader(body)
  const algorithm = reader.uint(2)
  const signature = reader.vector(2)
  reader.expectEnd()
  return { algorithm, signature }
}
