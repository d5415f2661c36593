// TLS over sockets that came through the door. A gate belongs to one listener.
//
//   welcome ---> handshakes under way ---> onSecure
//      |            ^        |
//      '-- line ----'        '--> refused: failed, too slow, no certificate, not believed
//
// A handshake costs memory and time before anybody knows who it is for, so there is a bound to how many are under way. Those
// beyond it wait in line, unread. While somebody waits, a handshake that dawdles is cut off: whoever means it needs
// two exchanges, and whoever opens connections to say nothing must not keep the others out.
//
// The time of a handshake is counted from its beginning and in sweeps. What a client waits for us is nobody's: in line, where it
// has said its part; and while the loop is late, as a sweep that is late counts once. Nor does a handshake dawdle that takes as long as others
// that come through: of thousands that come at one moment from a slow place all would be cut off, come again, and be cut off again.

import { hkdfSync, randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { createServer, type SecureContext, type Server, type TLSSocket, type TlsOptions } from 'node:tls'
import type { ClientAddress, PeerCertificate, StreamCredentials } from './byte-stream.ts'
import type { DoorGuest, DoorSocket } from './connection-acceptor.ts'
import { toPeerCertificate } from './peer-certificate.ts'
import { loadTlsFiles, stampOf, ticketKeyBytes, type TlsMaterial, type TlsProblem } from './tls-files.ts'
import type { TlsSettings } from './tls-settings.ts'

export interface TlsGateOptions {
  readonly settings: TlsSettings
  /** Of the listener: a ticket of one is worth nothing at another, where clients may be verified differently. */
  readonly name: string
  /** The same on all shards, so that a client resumes its session on whichever it comes to. 32 random bytes. */
  readonly ticketSecret: Uint8Array
  /** A key that is known beside those of the file, and counts instead of one there; where the listener takes keys at all. */
  storedKey?(identity: string): Uint8Array | undefined
  /** Handshakes under way at one time; who comes later waits in line. */
  readonly maxHandshakes?: number
  /** Files have changed and are not taken, and then, undefined, that they are again. What was read last stays in force. */
  onProblem(problem: TlsProblem | undefined): void
  /** A client was turned away; `why` for the log. */
  onRefused(client: ClientAddress, why: string): void
}

export type SecureWelcome = (socket: TLSSocket, client: ClientAddress, credentials: StreamCredentials) => void

export type TlsOpening = { readonly gate: TlsGate } | { readonly problem: TlsProblem }

interface Handshake {
  readonly raw: DoorSocket
  readonly client: ClientAddress
  readonly onSecure: SecureWelcome
  key: string
  /** Since it has come, and from its beginning on since that. */
  sweeps: number
}

const defaultMaxHandshakes = 512
const sweepMs = 1_000
/** So many sweeps at least a handshake may take while others wait for its place. */
const leastPatience = 3
/** And so many times as long as those take who come through, of whom each counts for a sixteenth of what is known. */
const patienceForUsual = 3
const lessonWeight = 1 / 16
/** So many times as long as a handshake may take somebody who has said its part may wait in line. */
const patienceInLine = 4
/** Node's own begins anew with each byte; ours is counted from the arrival. This one only must not come before. */
const timeoutOfNodeMs = 3_600_000
const filesLookedAtMs = 5_000

const ignore = (): void => {}

export class TlsGate {
  readonly #options: TlsGateOptions
  readonly #server: Server
  /** Handshakes under way by the addresses at both ends, in order of beginning. */
  readonly #underWay: Map<string, Handshake>
  readonly #line: Set<Handshake>
  /** Whose key a client says to know: a key was found for it, and the handshake shows whether it is true. */
  readonly #identities: WeakMap<TLSSocket, string>
  readonly #filesTimer: NodeJS.Timeout
  #sweepTimer: NodeJS.Timeout | undefined
  /** So many sweeps a handshake may take while others wait. All of its time, until it is known how long those take who come through. */
  #patience: number
  /** Since the last one that came through. */
  #cutOff = 0
  #material: TlsMaterial
  /** Of the files that the material was read from. */
  #stamp: string
  #problem: TlsProblem | undefined
  #isClosed: boolean

  /** Reads the files. The problem names the setting that is wrong. */
  static open(options: TlsGateOptions): TlsOpening {
    const loading = loadTlsFiles(options.settings, (trust) => ticketKeys(options, trust))
    return 'problem' in loading ? loading : { gate: new TlsGate(options, loading.material) }
  }

  private constructor(options: TlsGateOptions, material: TlsMaterial) {
    this.#options = options
    this.#material = material
    this.#underWay = new Map()
    this.#line = new Set()
    this.#sweepTimer = undefined
    this.#stamp = ''
    this.#patience = sweepsAllowed(options.settings)
    this.#problem = undefined
    this.#isClosed = false
    this.#identities = new WeakMap()
    this.#server = createServer(this.#serverOptions())
    this.#server.on('secureConnection', (socket) => this.#isSecure(socket))
    this.#server.on('tlsClientError', (error, socket) => this.#hasFailed(error, socket))
    this.#filesTimer = setInterval(() => void this.reload(), filesLookedAtMs).unref()
  }

  /** Begins the handshake, or has it wait in line. `onSecure` is called when it is done and the client is believed. */
  welcome(raw: DoorSocket, client: ClientAddress, onSecure: SecureWelcome): void {
    const handshake = { raw, client, onSecure, key: '', sweeps: 0 }
    this.#sweepTimer ??= setInterval(() => this.#sweepLater(), sweepMs).unref()
    if (!this.#isFull) return this.#begin(handshake)
    // Nobody listens to it, so nothing is read beyond its own buffer.
    this.#line.add(handshake)
    raw.once('close', () => this.#line.delete(handshake))
  }

  /** Looks at the files. Who is connected stays; what cannot be used is told and leaves everything as it was. */
  async reload(): Promise<void> {
    const stamp = await stampOf(this.#options.settings)
    if (stamp === this.#stamp || this.#isClosed) return
    const loading = loadTlsFiles(this.#options.settings, (trust) => ticketKeys(this.#options, trust))
    if ('problem' in loading) return this.#noteProblem(loading.problem)
    this.#noteProblem(undefined)
    this.#stamp = stamp
    this.#material = loading.material
    this.#server.setSecureContext(loading.material.options)
  }

  /** Another gate is in its place: handshakes that are under way or in line come to their end here. */
  retire(): void {
    this.#isClosed = true
    clearInterval(this.#filesTimer)
  }

  close(): void {
    this.retire()
    clearInterval(this.#sweepTimer)
    for (const { raw } of [...this.#underWay.values(), ...this.#line]) raw.destroy()
  }

  get #maxHandshakes(): number {
    return this.#options.maxHandshakes ?? defaultMaxHandshakes
  }

  get #isFull(): boolean {
    return this.#underWay.size >= this.#maxHandshakes
  }

  #noteProblem(problem: TlsProblem | undefined): void {
    if (problem?.message === this.#problem?.message) return
    this.#problem = problem
    this.#options.onProblem(problem)
  }

  #serverOptions(): TlsOptions {
    const { settings } = this.#options
    return {
      ...this.#material.options,
      requestCert: settings.verifyPeer,
      // With a key nobody needs a certificate, so who is believed is decided below.
      rejectUnauthorized: false,
      handshakeTimeout: timeoutOfNodeMs,
      ...(settings.byServerName.length === 0
        ? {}
        : { SNICallback: (name, done) => done(null, contextFor(this.#material.byServerName, name)) }),
      ...(settings.takesKeys ? { pskCallback: (socket, identity) => this.#keyOf(socket, identity) } : {}),
    }
  }

  #keyOf(socket: TLSSocket, identity: string): Uint8Array | null {
    const key = this.#options.storedKey?.(identity) ?? this.#material.keys.get(identity)
    // Without a key OpenSSL would say that the identity is unknown. With one that nobody has it says what it says of a wrong one.
    if (key === undefined) return mayBeTicket(socket, identity) ? null : randomBytes(unknownKeyBytes)
    this.#identities.set(socket, identity)
    return key
  }

  #begin(handshake: Handshake): void {
    const { raw } = handshake
    // It has gone while it waited: nothing tells it from others that have.
    if (raw.remotePort === undefined) return void raw.destroy()
    handshake.sweeps = 0
    handshake.key = endsOf(raw)
    this.#underWay.set(handshake.key, handshake)
    raw.guest = new HandshakeGuest(() => this.#leaves(handshake))
    this.#server.emit('connection', raw)
  }

  /** The handshake is over, well or not. */
  #leaves(handshake: Handshake): void {
    if (!this.#underWay.delete(handshake.key)) return
    for (const next of this.#line) {
      if (this.#isFull) break
      this.#line.delete(next)
      if (!next.raw.destroyed) this.#begin(next)
    }
    if (this.#underWay.size > 0) return
    clearInterval(this.#sweepTimer)
    this.#sweepTimer = undefined
  }

  #isSecure(socket: TLSSocket): void {
    const handshake = this.#underWay.get(endsOf(socket))
    // It is gone already: what it had here went with its socket.
    if (handshake === undefined) return void socket.destroy()
    handshake.raw.guest = undefined
    this.#cutOff = 0
    this.#patience += (Math.max(leastPatience, handshake.sweeps * patienceForUsual) - this.#patience) * lessonWeight
    this.#leaves(handshake)
    const pskIdentity = hasShownItsKey(socket) ? this.#identities.get(socket) : undefined
    const credentials = { certificate: certificateOf(socket), pskIdentity }
    const why = this.#reasonToRefuse(socket, credentials)
    if (why === undefined) return handshake.onSecure(socket, handshake.client, credentials)
    socket.on('error', ignore)
    socket.destroy()
    this.#options.onRefused(handshake.client, why)
  }

  /** A certificate that is shown must be good; whether one must be shown is a setting. A pre-shared key is as good as one. */
  #reasonToRefuse(socket: TLSSocket, { certificate, pskIdentity }: StreamCredentials): string | undefined {
    const { verifyPeer, failIfNoPeerCertificate } = this.#options.settings
    if (!verifyPeer) return undefined
    if (certificate !== undefined) {
      return socket.authorized ? undefined : `its certificate is not believed: ${String(socket.authorizationError)}`
    }
    return failIfNoPeerCertificate && pskIdentity === undefined ? 'it has shown no certificate' : undefined
  }

  #hasFailed(error: Error, socket: TLSSocket): void {
    const handshake = this.#underWay.get(endsOf(socket))
    socket.destroy()
    if (handshake !== undefined) this.#refuse(handshake, error.message)
  }

  #refuse(handshake: Handshake, why: string): void {
    handshake.raw.destroy()
    this.#leaves(handshake)
    this.#options.onRefused(handshake.client, why)
  }

  /** What has come while the loop was busy is read before anybody is called late. */
  #sweepLater(): void {
    setImmediate(() => this.#sweep())
  }

  #sweep(): void {
    const allowed = sweepsAllowed(this.#options.settings)
    const allowedUnderWay = this.#line.size > 0 ? Math.min(allowed, this.#patience) : allowed
    // Who begins in this sweep, as others are turned away, is not looked at.
    const underWay = [...this.#underWay.values()]
    for (const waiting of this.#line) {
      const hasSpoken = waiting.raw.readableLength > 0
      this.#expectWithin(waiting, hasSpoken ? allowed * patienceInLine : allowed)
    }
    for (const handshake of underWay) this.#expectWithin(handshake, allowedUnderWay)
    if (this.#cutOff < this.#maxHandshakes) return
    // All of them, and nobody has come through: they may not be those who dawdle, but all that there are.
    this.#cutOff = 0
    this.#patience = Math.min(allowed, this.#patience * 2)
  }

  /** One sweep more. The first one comes at any time after the beginning, and does not count. */
  #expectWithin(handshake: Handshake, sweeps: number): void {
    handshake.sweeps += 1
    if (handshake.sweeps <= sweeps) return
    if (this.#underWay.has(handshake.key)) this.#cutOff += 1
    this.#refuse(handshake, 'its handshake took too long')
  }
}

/** While a handshake is under way its socket's end is the handshake's end, whoever ended it. */
class HandshakeGuest implements DoorGuest {
  readonly noteClosed: () => void

  constructor(noteClosed: () => void) {
    this.noteClosed = noteClosed
  }

  noteError(): void {
    // The gate hears of it from the TLS socket as well.
  }
}

function sweepsAllowed({ handshakeTimeoutMs }: TlsSettings): number {
  return Math.ceil(handshakeTimeoutMs / sweepMs)
}

const unknownKeyBytes = 16

/**
 * Under TLS 1.3 a ticket stands in the place of an identity. It is random bytes, cut at the first zero, and must not be taken
 * for one: a client with a ticket of old makes a whole handshake.
 */
const shortestIdentity = 3

function mayBeTicket(socket: TLSSocket, text: string): boolean {
  if (socket.getProtocol() !== 'TLSv1.3') return false
  return text.length < shortestIdentity || /[\p{Cc}\uFFFD]/u.test(text)
}

/** `socket` has the same before and behind TLS. */
function endsOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress} ${socket.localPort}`
}

/**
 * TLS 1.3 looks a key up and then leaves it where its hash is not that of the suite: the handshake goes on with the
 * certificate, and nobody has shown to know the key. Sessions are not resumed where keys are taken, so what is reused is one
 * that was made of a key.
 */
function hasShownItsKey(socket: TLSSocket): boolean {
  return socket.getProtocol() === 'TLSv1.3' ? socket.isSessionReused() : socket.getCipher().name.includes('PSK')
}

function certificateOf(socket: TLSSocket): PeerCertificate | undefined {
  const certificate = socket.getPeerX509Certificate()
  return certificate === undefined ? undefined : toPeerCertificate(certificate)
}

/** `*.example.org` stands for one level; the whole name counts more. */
function contextFor(contexts: ReadonlyMap<string, SecureContext>, serverName: string): SecureContext | undefined {
  const name = serverName.toLowerCase()
  return contexts.get(name) ?? contexts.get(name.replace(/^[^.]+/, '*'))
}

function ticketKeys({ ticketSecret, name }: TlsGateOptions, trust: string): Buffer {
  return Buffer.from(hkdfSync('sha256', ticketSecret, trust, `tickets of listener ${name}`, ticketKeyBytes))
}
