// TLS over accepted sockets. Each listener has an upgrade of its own.
//
//   startHandshake ---> handshakes in progress ---> onSecure
//      |            ^        |
//      '-- queue ---'        '--> refused: failed, timeout, no certificate, not trusted
//
// A handshake costs memory and time before the client is authenticated, so the number of handshakes is limited. Further
// connections wait in a queue, unread. While some wait, slow handshakes are closed: a handshake needs two exchanges, and
// clients that open connections and send nothing must not block others. Those of one address must not block other addresses at all: see
// handshake-shares.ts.
//
// The duration of a handshake is counted in sweeps. Time for which the client waits for the broker does not count: in the queue, and
// while the event loop is late, because a late sweep counts once. The limit follows recent handshakes: otherwise thousands of slow
// clients that connect at once would all be closed, reconnect, and be closed again.

import { hkdfSync, randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { createServer, type SecureContext, type Server, type TLSSocket, type TlsOptions } from 'node:tls'
import type { ClientAddress, StreamCredentials } from '../streams/byte-stream.ts'
import type { SocketCallbacks, AcceptedSocket } from './connection-acceptor.ts'
import { HandshakeShares } from './handshake-shares.ts'
import { type PeerCertificate, toPeerCertificate } from '../../../lib/certificates/index.ts'
import { describeCertificateError, describeHandshakeError } from '../certificates/describe-tls-error.ts'
import {
  loadTlsFiles,
  computeFileStamp,
  ticketKeyBytes,
  type TlsMaterial,
  type TlsProblem,
} from '../certificates/tls-files.ts'
import type { TlsConfig } from '../../config/index.ts'

export interface TlsUpgradeOptions {
  readonly settings: TlsConfig
  /** Name of the listener. Its tickets are invalid at other listeners, which may verify clients differently. */
  readonly name: string
  /** The same on all shards, so that a client can resume its session on any of them. 32 random bytes. */
  readonly ticketSecret: Uint8Array
  /**
   * Returns the stored pre-shared key of an identity, which has priority over the key file. Called if the listener
   * accepts pre-shared keys.
   */
  findStoredKey?(identity: string): Uint8Array | undefined
  /** Maximum handshakes in progress; further ones wait in the queue. */
  readonly maxHandshakes?: number
  /**
   * Called when changed files cannot be used: the previous ones stay in use. `undefined`: the current files are in use
   * again.
   */
  onProblem(problem: TlsProblem | undefined): void
  /** A connection was refused; `why` is for the log. */
  onRefused(client: ClientAddress, why: string): void
}

export type OnSecure = (socket: TLSSocket, client: ClientAddress, credentials: StreamCredentials) => void

export type TlsUpgradeResult = { readonly upgrade: TlsUpgrade } | { readonly problem: TlsProblem }

interface Handshake {
  readonly raw: AcceptedSocket
  readonly client: ClientAddress
  readonly onSecure: OnSecure
  /** The address of the client, for IPv6 its /64. */
  readonly network: string
  /** Addresses and ports of both ends; empty until the handshake starts. */
  addresses: string
  /** Number of sweeps since the connection was accepted; counted again from the start of the handshake. */
  sweeps: number
}

const defaultMaxHandshakes = 512
const sweepMs = 1_000
/** Minimum number of sweeps that a handshake may take while others wait. */
const minSweeps = 3
/** A handshake may take this many times the typical duration, an average in which each handshake has the weight 1/16. */
const sweepsPerTypical = 3
const averageWeight = 1 / 16
/** A client that sent its first message may wait in the queue this many times as long as a handshake may take. */
const queueTimeoutFactor = 4
/**
 * Node's own timeout restarts with each byte; this file counts from the accepted connection. So Node's timeout is longer than any
 * configured one.
 */
const nodeTimeoutMs = 3_600_000
const fileCheckMs = 5_000

const ignore = (): void => {}

export class TlsUpgrade {
  readonly #options: TlsUpgradeOptions
  readonly #server: Server
  /** Handshakes in progress by the addresses of both ends, in order of their start. */
  readonly #inProgress: Map<string, Handshake>
  readonly #queue: Set<Handshake>
  readonly #shares = new HandshakeShares<Handshake>()
  /**
   * The identity that a client uses. A key was found for it; the handshake verifies that the client knows the key.
   */
  readonly #identities: WeakMap<TLSSocket, string>
  readonly #filesTimer: NodeJS.Timeout
  #sweepTimer: NodeJS.Timeout | undefined
  /**
   * Maximum sweeps of a handshake while others wait; the whole timeout until the duration of successful ones is known.
   */
  #maxSweeps: number
  /** Number of handshakes in progress that were refused because they took too long, since the last success. */
  #timedOutCount = 0
  #material: TlsMaterial
  /** Identifies the files of the material. */
  #stamp: string
  #problem: TlsProblem | undefined
  #isClosed: boolean

  /** Reads the files. The problem names the setting. */
  static open(options: TlsUpgradeOptions): TlsUpgradeResult {
    const loading = loadTlsFiles(options.settings, (trust) => deriveTicketKeys(options, trust))
    return 'problem' in loading ? loading : { upgrade: new TlsUpgrade(options, loading.material) }
  }

  private constructor(options: TlsUpgradeOptions, material: TlsMaterial) {
    this.#options = options
    this.#material = material
    this.#inProgress = new Map()
    this.#queue = new Set()
    this.#sweepTimer = undefined
    this.#stamp = ''
    this.#maxSweeps = computeMaxSweeps(options.settings)
    this.#problem = undefined
    this.#isClosed = false
    this.#identities = new WeakMap()
    this.#server = createServer(this.#createServerOptions())
    this.#server.on('secureConnection', (socket) => this.#handleSecure(socket))
    this.#server.on('tlsClientError', (error, socket) => this.#handleFailure(error, socket))
    this.#filesTimer = setInterval(() => void this.reload(), fileCheckMs).unref()
  }

  /**
   * Starts the handshake or adds it to the queue. `onSecure` is called when it is complete and the client is trusted.
   */
  startHandshake(raw: AcceptedSocket, client: ClientAddress, onSecure: OnSecure): void {
    const network = HandshakeShares.toNetwork(client.address)
    const handshake = { raw, client, onSecure, network, addresses: '', sweeps: 0 }
    this.#sweepTimer ??= setInterval(() => this.#sweepLater(), sweepMs).unref()
    if (!this.#isFull) return this.#beginHandshake(handshake)
    // The socket has no listener, so nothing is read beyond its own buffer.
    this.#queue.add(handshake)
    this.#shares.wait(handshake)
    raw.once('close', () => this.#leaveQueue(handshake))
    this.#makeSpaceFor(handshake)
  }

  #leaveQueue(handshake: Handshake): void {
    this.#queue.delete(handshake)
    this.#shares.stopWaiting(handshake)
  }

  /** Ends a stalled handshake of the address that has most, if the waiting client has fewer. The client is served then. */
  #makeSpaceFor(waiting: Handshake): void {
    const stalled = this.#shares.findStalledFor(waiting.network)
    if (stalled === undefined) return
    const { address } = stalled.client
    this.#refuse(stalled, `its handshake was ended, because ${address} has the most handshakes of all addresses`)
  }

  /** Checks the files. Connections remain; unusable files are reported, and the previous ones stay in use. */
  async reload(): Promise<void> {
    const stamp = await computeFileStamp(this.#options.settings)
    if (stamp === this.#stamp || this.#isClosed) return
    const loading = loadTlsFiles(this.#options.settings, (trust) => deriveTicketKeys(this.#options, trust))
    if ('problem' in loading) return this.#reportProblem(loading.problem)
    this.#reportProblem(loading.material.warning)
    this.#stamp = stamp
    this.#material = loading.material
    this.#server.setSecureContext(loading.material.options)
  }

  /** Called when another upgrade replaces this one. Handshakes in progress or in the queue are completed here. */
  retire(): void {
    this.#isClosed = true
    clearInterval(this.#filesTimer)
  }

  close(): void {
    this.retire()
    clearInterval(this.#sweepTimer)
    for (const { raw } of [...this.#inProgress.values(), ...this.#queue]) raw.destroy()
  }

  get #maxHandshakes(): number {
    return this.#options.maxHandshakes ?? defaultMaxHandshakes
  }

  get #isFull(): boolean {
    return this.#inProgress.size >= this.#maxHandshakes
  }

  #reportProblem(problem: TlsProblem | undefined): void {
    if (problem?.message === this.#problem?.message) return
    this.#problem = problem
    this.#options.onProblem(problem)
  }

  #createServerOptions(): TlsOptions {
    const { settings } = this.#options
    return {
      ...this.#material.options,
      requestCert: settings.verifyPeer,
      // A client with a pre-shared key needs no certificate, so `#reasonToRefuse` decides about trust.
      rejectUnauthorized: false,
      handshakeTimeout: nodeTimeoutMs,
      ...(settings.byServerName.length === 0
        ? {}
        : { SNICallback: (name, done) => done(null, findContext(this.#material.byServerName, name)) }),
      ...(settings.acceptsPsk ? { pskCallback: (socket, identity) => this.#findPreSharedKey(socket, identity) } : {}),
    }
  }

  #findPreSharedKey(socket: TLSSocket, identity: string): Uint8Array | null {
    const key = this.#options.findStoredKey?.(identity) ?? this.#material.keys.get(identity)
    // For null OpenSSL reports an unknown identity. With a random key the error is that of a wrong key.
    if (key === undefined) return mayBeTicket(socket, identity) ? null : randomBytes(unknownKeyBytes)
    this.#identities.set(socket, identity)
    return key
  }

  #beginHandshake(handshake: Handshake): void {
    const { raw } = handshake
    // The client disconnected while it waited, so its addresses are unknown.
    if (raw.remotePort === undefined) return void raw.destroy()
    handshake.sweeps = 0
    handshake.addresses = toConnectionKey(raw)
    this.#inProgress.set(handshake.addresses, handshake)
    this.#shares.start(handshake)
    raw.callbacks = new HandshakeCallbacks(() => this.#endHandshake(handshake))
    this.#server.emit('connection', raw)
  }

  /** The handshake has ended, successfully or not. */
  #endHandshake(handshake: Handshake): void {
    if (!this.#inProgress.delete(handshake.addresses)) return
    this.#shares.end(handshake)
    while (!this.#isFull) {
      const next = this.#shares.takeNext()
      if (next === undefined) break
      this.#queue.delete(next)
      if (!next.raw.destroyed) this.#beginHandshake(next)
    }
    if (this.#inProgress.size > 0) return
    clearInterval(this.#sweepTimer)
    this.#sweepTimer = undefined
  }

  #handleSecure(socket: TLSSocket): void {
    const handshake = this.#inProgress.get(toConnectionKey(socket))
    // The client disconnected; its state was removed with the socket.
    if (handshake === undefined) return void socket.destroy()
    handshake.raw.callbacks = undefined
    this.#timedOutCount = 0
    this.#maxSweeps += (Math.max(minSweeps, handshake.sweeps * sweepsPerTypical) - this.#maxSweeps) * averageWeight
    this.#endHandshake(handshake)
    const pskIdentity = hasProvenKey(socket) ? this.#identities.get(socket) : undefined
    const credentials = { certificate: readPeerCertificate(socket), pskIdentity }
    const why = this.#findRefusalReason(socket, credentials)
    if (why === undefined) return handshake.onSecure(socket, handshake.client, credentials)
    socket.on('error', ignore)
    socket.destroy()
    this.#options.onRefused(handshake.client, why)
  }

  /** A certificate must be valid; a setting requires one. A pre-shared key is sufficient as well. */
  #findRefusalReason(socket: TLSSocket, { certificate, pskIdentity }: StreamCredentials): string | undefined {
    const { verifyPeer, failIfNoPeerCertificate } = this.#options.settings
    if (!verifyPeer) return undefined
    if (certificate !== undefined) {
      if (socket.authorized) return undefined
      return `its certificate is not valid: ${describeCertificateError(String(socket.authorizationError))}`
    }
    return failIfNoPeerCertificate && pskIdentity === undefined
      ? 'it has sent no certificate, which fail_if_no_peer_cert requires'
      : undefined
  }

  #handleFailure(error: Error, socket: TLSSocket): void {
    const handshake = this.#inProgress.get(toConnectionKey(socket))
    socket.destroy()
    if (handshake !== undefined) this.#refuse(handshake, describeHandshakeError(error))
  }

  #refuse(handshake: Handshake, why: string): void {
    handshake.raw.destroy()
    this.#endHandshake(handshake)
    this.#options.onRefused(handshake.client, why)
  }

  /** Sweeps after the data that arrived while the event loop was busy has been read. */
  #sweepLater(): void {
    setImmediate(() => this.#sweep())
  }

  #sweep(): void {
    const maxSweeps = computeMaxSweeps(this.#options.settings)
    const maxSweepsInProgress = this.#queue.size > 0 ? Math.min(maxSweeps, this.#maxSweeps) : maxSweeps
    // Handshakes that start in this sweep are not checked.
    const inProgress = [...this.#inProgress.values()]
    for (const waiting of this.#queue) {
      const hasSentData = waiting.raw.readableLength > 0
      this.#countSweep(waiting, hasSentData ? maxSweeps * queueTimeoutFactor : maxSweeps)
    }
    for (const handshake of inProgress) this.#countSweep(handshake, maxSweepsInProgress)
    // Clients of other addresses, which had sent nothing wrong when these came, may have stalled since.
    for (const waiting of this.#shares.listFirstOfEachNetwork()) this.#makeSpaceFor(waiting)
    if (this.#timedOutCount < this.#maxHandshakes) return
    // As many handshakes as may be in progress took too long, and none succeeded. The limit may be too short for every
    // client, so it is doubled.
    this.#timedOutCount = 0
    this.#maxSweeps = Math.min(maxSweeps, this.#maxSweeps * 2)
  }

  /**
   * Counts one sweep, and refuses the handshake if it has taken more than `maxSweeps`. The first sweep comes less than
   * `sweepMs` after the start, so it is not counted against the limit.
   */
  #countSweep(handshake: Handshake, maxSweeps: number): void {
    handshake.sweeps += 1
    if (handshake.sweeps <= maxSweeps) return
    if (this.#inProgress.has(handshake.addresses)) this.#timedOutCount += 1
    this.#refuse(handshake, 'its handshake took too long')
  }
}

/** While a handshake is in progress, the end of its socket is the end of the handshake. */
class HandshakeCallbacks implements SocketCallbacks {
  readonly handleClosed: () => void

  constructor(noteClosed: () => void) {
    this.handleClosed = noteClosed
  }

  handleError(): void {
    // The TLS socket reports it as well.
  }
}

function computeMaxSweeps({ handshakeTimeoutMs }: TlsConfig): number {
  return Math.ceil(handshakeTimeoutMs / sweepMs)
}

const unknownKeyBytes = 16

/**
 * Minimum length of an identity in characters. In TLS 1.3, OpenSSL passes a ticket as if it were an identity: random
 * bytes up to the first zero byte. A ticket must not be used as an identity: a client with an old ticket makes a full
 * handshake.
 */
const minIdentityLength = 3

function mayBeTicket(socket: TLSSocket, text: string): boolean {
  if (socket.getProtocol() !== 'TLSv1.3') return false
  return text.length < minIdentityLength || /[\p{Cc}\uFFFD]/u.test(text)
}

/** `socket` has the same addresses before and after TLS. */
function toConnectionKey(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress} ${socket.localPort}`
}

/**
 * TLS 1.3 looks a key up and then ignores it if its hash is not that of the suite: the handshake continues with the
 * certificate, and does not prove knowledge of the key. Sessions are not resumed if keys are accepted, so a resumed
 * session comes from a key.
 */
function hasProvenKey(socket: TLSSocket): boolean {
  return socket.getProtocol() === 'TLSv1.3' ? socket.isSessionReused() : socket.getCipher().name.includes('PSK')
}

function readPeerCertificate(socket: TLSSocket): PeerCertificate | undefined {
  const certificate = socket.getPeerX509Certificate()
  return certificate === undefined ? undefined : toPeerCertificate(certificate)
}

/** `*.example.org` stands for one level; an exact name has priority. */
function findContext(contexts: ReadonlyMap<string, SecureContext>, serverName: string): SecureContext | undefined {
  const name = serverName.toLowerCase()
  return contexts.get(name) ?? contexts.get(name.replace(/^[^.]+/, '*'))
}

function deriveTicketKeys({ ticketSecret, name }: TlsUpgradeOptions, trust: string): Buffer {
  return Buffer.from(hkdfSync('sha256', ticketSecret, trust, `tickets of listener ${name}`, ticketKeyBytes))
}
