// The server's handshake of one association (RFC 5246 7.3, RFC 6347 4.2), after a ClientHello with a valid cookie.
//
//   ClientHello ->      <- ServerHello, [Certificate], [ServerKeyExchange], [CertificateRequest], ServerHelloDone
//   [Certificate], ClientKeyExchange, [CertificateVerify], Finished ->      <- Finished
//
// If a session is resumed:
//
//   ClientHello ->      <- ServerHello, Finished          Finished ->

import { type KeyObject, timingSafeEqual } from 'node:crypto'
import { toPeerCertificate } from '../certificates/index.ts'
import { HandshakeFailure } from './alerts.ts'
import { type CipherSuite } from './cipher-suites.ts'
import type { ClientCredentials, DtlsCertificate, DtlsCredentials } from './dtls-credentials.ts'
import { FieldReader, encodeVector, encodeUint16 } from './field-reader.ts'
import type { FlightItem } from './flight.ts'
import { type HandshakeMessage, writeWholeMessage } from './handshake-fragments.ts'
import {
  type ClientHello,
  extensionTypes,
  messageTypes,
  parseCertificate,
  parseCertificateVerify,
  writeAgreementParameters,
  writeCertificate,
  writeCertificateRequest,
  writeServerHello,
} from './handshake-messages.ts'
import { beginAgreement, chooseGroup, groups, type KeyAgreement } from './key-agreement.ts'
import {
  deriveExtendedMasterSecret,
  derivePlainMasterSecret,
  derivePskPremaster,
  deriveTrafficKeys,
  type TrafficKeys,
  deriveVerifyData,
} from './key-schedule.ts'
import type { Epoch } from './record-layer.ts'
import { RecordProtection } from './dtls-records.ts'
import type { ResumableSession, SessionCache } from './session-cache.ts'
import { chooseSignature, isSignedBy, signatureAlgorithmIds, signWith } from './signatures.ts'

/** RFC 4279 5.3. */
const maxIdentityBytes = 128
const unknownKeyBytes = 16
const randomBytes = 32
const sessionIdBytes = 32

export interface HandshakeOptions {
  readonly credentials: DtlsCredentials
  readonly sessions: SessionCache
  /** Connection ID that the client puts into records, if it supports them; undefined: none. */
  readonly connectionId: Buffer | undefined
  readonly random: (bytes: number) => Buffer
  readonly nowMs: () => number
  /** Records of epoch 1 are read and written from now on. */
  protect(protections: { readonly read: RecordProtection; readonly write: RecordProtection }): void
  /** Sends a flight repeatedly until the client responds; once if it is the last. */
  sendFlight(items: readonly FlightItem[], isLast: boolean): void
}

interface Shown {
  credentials: ClientCredentials
  key: Uint8Array | undefined
  certificateEndsAtMs: number
}

type Expected =
  | 'certificate'
  | 'key-exchange'
  | 'certificate-verify'
  | 'finished'
  | 'finished-of-resumption'
  | 'nothing'

/** Parameters of the suite for this client. */
interface Choice {
  readonly suite: CipherSuite
  readonly group: number
  readonly signature: number | undefined
}

export class ServerHandshake {
  readonly #options: HandshakeOptions
  readonly #hello: ClientHello
  readonly #serverRandom: Buffer
  readonly #transcript: Buffer[] = []
  #nextSequence: number
  #expected: Expected = 'nothing'
  #choice: Choice | undefined
  #agreement: KeyAgreement | undefined
  #sessionId: Buffer = Buffer.alloc(0)
  #master: Buffer = Buffer.alloc(0)
  readonly #shown: Shown = {
    credentials: { certificate: undefined, pskIdentity: undefined },
    key: undefined,
    certificateEndsAtMs: Number.POSITIVE_INFINITY,
  }
  #clientKey: KeyObject | undefined

  constructor(hello: ClientHello, message: HandshakeMessage, options: HandshakeOptions) {
    this.#options = options
    this.#hello = hello
    this.#serverRandom = options.random(randomBytes)
    this.#transcript.push(writeWholeMessage(message))
    this.#nextSequence = message.messageSequence
  }

  get isComplete(): boolean {
    return this.#expected === 'nothing'
  }

  /** Credentials of the client; valid only when the handshake is complete. */
  get credentials(): ClientCredentials {
    return this.#shown.credentials
  }

  /** The same for each association that resumes the session. '': the session cannot be resumed. */
  get sessionId(): string {
    return this.#sessionId.toString('hex')
  }

  get suiteName(): string {
    return this.#choice?.suite.name ?? ''
  }

  /** Sends the first flight. */
  start(): void {
    const session = this.#findResumableSession()
    if (session === undefined) this.#startWhole()
    else this.#resume(session)
  }

  handleMessage(message: HandshakeMessage): void {
    switch (message.type) {
      case messageTypes.certificate:
        return this.#handleCertificate(message)
      case messageTypes.clientKeyExchange:
        return this.#handleKeyExchange(message)
      case messageTypes.certificateVerify:
        return this.#handleCertificateVerify(message)
      case messageTypes.finished:
        return this.#handleFinished(message)
      default:
        throw createOrderError()
    }
  }

  #findResumableSession(): ResumableSession | undefined {
    const { sessions, credentials, nowMs } = this.#options
    const session = sessions.find(this.#hello.sessionId, nowMs())
    if (session === undefined || !this.#hello.hasExtendedMasterSecret) return undefined
    const isOffered = this.#hello.suites.includes(session.suiteId)
    const { pskIdentity } = session.credentials
    const key = pskIdentity === undefined ? undefined : credentials.findKey(pskIdentity)
    const isSameKey = pskIdentity === undefined || (key !== undefined && Buffer.compare(key, session.key ?? key) === 0)
    return isOffered && isSameKey && session.certificateEndsAtMs > nowMs() ? session : undefined
  }

  #resume(session: ResumableSession): void {
    const suite = this.#options.credentials.suites.find(({ id }) => id === session.suiteId)
    if (suite === undefined) return this.#startWhole()
    this.#choice = { suite, group: groups.secp256r1, signature: undefined }
    this.#sessionId = this.#hello.sessionId
    this.#master = session.master
    this.#shown.credentials = session.credentials
    const hello = this.#createMessage(0, messageTypes.serverHello, this.#createServerHello(suite))
    this.#protect(suite)
    const finished = this.#createMessage(1, messageTypes.finished, this.#verifyData('server'))
    this.#expected = 'finished-of-resumption'
    this.#options.sendFlight([hello, { kind: 'change' }, finished], false)
  }

  #startWhole(): void {
    const choice = chooseSuite(this.#options.credentials, this.#hello)
    this.#choice = choice
    const { suite } = choice
    const { certificate, clients } = this.#options.credentials
    if (this.#hello.hasExtendedMasterSecret) this.#sessionId = this.#options.random(sessionIdBytes)
    const flight = [this.#createMessage(0, messageTypes.serverHello, this.#createServerHello(suite))]
    const usesCertificates = suite.keyExchange === 'ecdhe-ecdsa' || suite.keyExchange === 'ecdhe-rsa'
    if (usesCertificates && certificate !== undefined)
      flight.push(this.#createMessage(0, messageTypes.certificate, writeCertificate(certificate.chain)))
    if (suite.keyExchange !== 'psk')
      flight.push(this.#createMessage(0, messageTypes.serverKeyExchange, this.#createKeyExchange(choice, certificate)))
    const requestsCertificate = usesCertificates && clients !== undefined
    if (requestsCertificate)
      flight.push(
        this.#createMessage(0, messageTypes.certificateRequest, writeCertificateRequest(signatureAlgorithmIds)),
      )
    flight.push(this.#createMessage(0, messageTypes.serverHelloDone, Buffer.alloc(0)))
    this.#expected = requestsCertificate ? 'certificate' : 'key-exchange'
    this.#options.sendFlight(flight, false)
  }

  #createServerHello(suite: CipherSuite): Buffer {
    const { hasRenegotiationInfo, hasExtendedMasterSecret, hasPointFormats, connectionId } = this.#hello
    const extensions: [number, Buffer][] = []
    if (hasRenegotiationInfo) extensions.push([extensionTypes.renegotiationInfo, Buffer.of(0)])
    if (hasExtendedMasterSecret) extensions.push([extensionTypes.extendedMasterSecret, Buffer.alloc(0)])
    if (hasPointFormats && suite.keyExchange !== 'psk') extensions.push([extensionTypes.pointFormats, Buffer.of(1, 0)])
    const ownId = this.#options.connectionId
    if (connectionId !== undefined && ownId !== undefined)
      extensions.push([extensionTypes.connectionId, encodeVector(1, ownId)])
    return writeServerHello({
      random: this.#serverRandom,
      sessionId: this.#sessionId,
      suite: suite.id,
      extensions,
    })
  }

  #createKeyExchange({ group, signature }: Choice, certificate: DtlsCertificate | undefined): Buffer {
    const agreement = beginAgreement(group)
    this.#agreement = agreement
    const parameters = writeAgreementParameters(group, agreement.publicKey)
    // RFC 5489 2: no identity hint, and no signature.
    if (signature === undefined || certificate === undefined) return Buffer.concat([encodeUint16(0), parameters])
    const signed = Buffer.concat([this.#hello.random, this.#serverRandom, parameters])
    const value = signWith(signature, certificate.key, signed)
    return Buffer.concat([parameters, encodeUint16(signature), encodeVector(2, value)])
  }

  #handleCertificate(message: HandshakeMessage): void {
    const { clients } = this.#options.credentials
    if (this.#expected !== 'certificate' || clients === undefined) throw createOrderError()
    const chain = parseCertificate(message.body)
    if (chain.length === 0 && clients.isRequired)
      throw new HandshakeFailure('handshakeFailure', 'it has sent no certificate, which fail_if_no_peer_cert requires')
    if (chain.length > 0) {
      const certificate = clients.trust.verify(chain, this.#options.nowMs())
      this.#shown.credentials = { certificate: toPeerCertificate(certificate), pskIdentity: undefined }
      this.#shown.certificateEndsAtMs = certificate.validToDate.getTime()
      this.#clientKey = certificate.publicKey
    }
    this.#transcript.push(writeWholeMessage(message))
    this.#expected = 'key-exchange'
  }

  #handleKeyExchange(message: HandshakeMessage): void {
    const suite = this.#choice?.suite
    if (this.#expected !== 'key-exchange' || suite === undefined) throw createOrderError()
    const premaster = this.#readPremaster(suite, new FieldReader(message.body))
    this.#transcript.push(writeWholeMessage(message))
    this.#master = this.#hello.hasExtendedMasterSecret
      ? deriveExtendedMasterSecret(premaster, this.#transcript)
      : derivePlainMasterSecret(premaster, this.#hello.random, this.#serverRandom)
    this.#protect(suite)
    this.#expected = this.#clientKey === undefined ? 'finished' : 'certificate-verify'
  }

  #readPremaster({ keyExchange }: CipherSuite, reader: FieldReader): Buffer {
    const usesKey = keyExchange === 'psk' || keyExchange === 'ecdhe-psk'
    const identity = usesKey ? reader.vector(2) : undefined
    const shared = keyExchange === 'psk' ? undefined : this.#agreement?.agree(reader.vector(1))
    reader.expectEnd()
    if (identity === undefined) {
      if (shared === undefined) throw createOrderError()
      return shared
    }
    return derivePskPremaster(this.#findKey(identity), shared)
  }

  /** An unknown identity gets a random key: the result and the time are those of a wrong key. */
  #findKey(identity: Buffer): Uint8Array {
    const name = identity.toString('utf8')
    const isName = identity.length <= maxIdentityBytes && Buffer.from(name, 'utf8').equals(identity)
    const key = isName ? this.#options.credentials.findKey(name) : undefined
    if (key === undefined) return this.#options.random(unknownKeyBytes)
    this.#shown.credentials = { certificate: undefined, pskIdentity: name }
    this.#shown.key = key
    return key
  }

  #handleCertificateVerify(message: HandshakeMessage): void {
    if (this.#expected !== 'certificate-verify' || this.#clientKey === undefined) throw createOrderError()
    const { algorithm, signature } = parseCertificateVerify(message.body)
    if (!isSignedBy(this.#clientKey, algorithm, Buffer.concat(this.#transcript), signature))
      throw new HandshakeFailure('decryptError', 'it does not have the key of its certificate')
    this.#transcript.push(writeWholeMessage(message))
    this.#expected = 'finished'
  }

  #handleFinished(message: HandshakeMessage): void {
    const isResumption = this.#expected === 'finished-of-resumption'
    if (this.#expected !== 'finished' && !isResumption) throw createOrderError()
    const wanted = this.#verifyData('client')
    if (message.body.length !== wanted.length || !timingSafeEqual(message.body, wanted))
      throw new HandshakeFailure('decryptError', 'its Finished does not fit to the handshake')
    this.#expected = 'nothing'
    if (!isResumption) this.#finish(message)
    // The association may live for days.
    this.#transcript.length = 0
  }

  #finish(message: HandshakeMessage): void {
    this.#transcript.push(writeWholeMessage(message))
    const finished = this.#createMessage(1, messageTypes.finished, this.#verifyData('server'))
    this.#options.sendFlight([{ kind: 'change' }, finished], true)
    this.#keepSession()
  }

  #keepSession(): void {
    const { sessions, nowMs } = this.#options
    if (this.#sessionId.length === 0 || this.#choice === undefined) return
    const session = { master: this.#master, suiteId: this.#choice.suite.id, ...this.#shown }
    sessions.add(this.#sessionId, session, nowMs())
  }

  #verifyData(side: 'client' | 'server'): Buffer {
    return deriveVerifyData(this.#master, side, this.#transcript)
  }

  #protect(suite: CipherSuite): void {
    const keys: TrafficKeys = deriveTrafficKeys(this.#master, this.#hello.random, this.#serverRandom)
    const { connectionId } = this.#options
    const usesIds = connectionId !== undefined && this.#hello.connectionId !== undefined
    this.#options.protect({
      read: new RecordProtection(suite, keys.clientKey, keys.clientIv, usesIds ? connectionId : undefined),
      write: new RecordProtection(suite, keys.serverKey, keys.serverIv, usesIds ? this.#hello.connectionId : undefined),
    })
  }

  /** Creates the next message of the server, and adds it to the handshake hash. */
  #createMessage(epoch: Epoch, type: number, body: Buffer): FlightItem {
    const message = { type, messageSequence: this.#nextSequence++, body }
    this.#transcript.push(writeWholeMessage(message))
    return { kind: 'message', epoch, message }
  }
}

function chooseSuite({ suites, certificate }: DtlsCredentials, hello: ClientHello): Choice {
  const group = chooseGroup(hello.groups)
  const signature = certificate === undefined ? undefined : chooseSignature(certificate.key, hello.signatureAlgorithms)
  const suite = suites.find(({ id, keyExchange }) => {
    if (!hello.suites.includes(id)) return false
    if (keyExchange === 'psk') return true
    if (group === undefined) return false
    return keyExchange === 'ecdhe-psk' || (signature !== undefined && canSign(certificate, keyExchange, hello))
  })
  if (suite === undefined)
    throw new HandshakeFailure('handshakeFailure', 'it offers no cipher suite, group and signature that is used here')
  const usesKey = suite.keyExchange === 'psk' || suite.keyExchange === 'ecdhe-psk'
  return { suite, group: group ?? groups.secp256r1, signature: usesKey ? undefined : signature }
}

function canSign(
  certificate: DtlsCertificate | undefined,
  keyExchange: 'ecdhe-ecdsa' | 'ecdhe-rsa',
  { groups: offered }: ClientHello,
): boolean {
  if (keyExchange === 'ecdhe-rsa') return certificate?.key.asymmetricKeyType === 'rsa'
  // RFC 8422 5.1: the groups also apply to keys of certificates.
  const isKnown = offered === undefined || offered.includes(groups.secp256r1)
  return certificate?.key.asymmetricKeyType === 'ec' && isKnown
}

function createOrderError(): HandshakeFailure {
  return new HandshakeFailure('unexpectedMessage', 'a handshake message is out of order')
}
