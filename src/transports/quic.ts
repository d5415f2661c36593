// QUIC: connections of a library as byte streams. The library is optional; a machine that has none, or one that cannot be
// loaded, hears of it in a sentence and goes on without.
//
// The library has a thread of its own for the socket and hands over what has come in batches. It takes one certificate and
// keeps it: a listener that is to have another one is started again. It knows nothing of certificates that were revoked:
// those are looked for when the handshake is done.

import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { type AddressRule, AddressRules } from './address-rules.ts'
import { proxiedAddress } from './proxied-address.ts'
import type { ByteStream, ConnectionRefusal, Listener } from './byte-stream.ts'
import type { ConnectionLimit } from './connection-limits.ts'
import type { ConnectionRate } from './connection-rate.ts'
import type { QuicCredentials } from './quic-credentials.ts'
import { loadQuicLibrary, mqttOverQuic, quicRuntime, type QuicServer, type QuicServerSession } from './quic-library.ts'
import { toPeerCertificate } from './peer-certificate.ts'
import { QuicConnection, type QuicStreamEnd } from './quic-connection.ts'
import type { HeldTotal } from './quic-shutdown.ts'

export interface QuicListenOptions {
  readonly host: string
  /** 0: the system chooses one. */
  readonly port: number
  readonly credentials: QuicCredentials
  /** Connections at one time; one more is closed after its handshake. Undefined: no limit of its own. */
  readonly maxConnections?: number | undefined
  /** What all listeners of this thread may hold together. Without it: no limit. */
  readonly limits?: ConnectionLimit
  readonly rates?: readonly ConnectionRate[]
  /** Who may connect, by address; the first rule that fits decides. */
  readonly accessRules?: readonly AddressRule[]
  /** A connection on which nothing was heard for so long is over; 0: never. */
  readonly idleTimeoutMs: number
  /** So often every peer is asked for a sign of life, so that those who live are not idle; 0: never. */
  readonly keepAliveMs: number
  /** Clients show that they are where they say before anything is kept for them. Costs them a round trip. */
  readonly checksAddresses: boolean
  /** A client that opens no stream for this time after the handshake is disconnected. */
  readonly streamTimeoutMs: number
  readonly maxDataStreams: number
  readonly maxPacketBytes: number
  /** Called for each connection. Sets `onData` and `onClose` of the stream before it returns. */
  onStream(stream: ByteStream): void
  /** A connection was refused. `why` is for the log, where there is more to say than the reason. */
  onRefused?(reason: ConnectionRefusal, why?: string): void
  /** The library has failed at something that belongs to no connection. The listener goes on. */
  onFault?(error: Error): void
}

/** Windows of flow control, of a connection and of each stream. The library does not bear smaller ones. */
const connectionWindowBytes = 10_000_000
const streamWindowBytes = 1_000_000
/** What is held while the broker does not read: of one connection, and of all of a listener. */
const maxHeldBytes = 8_388_608
const maxHeldBytesTotal = 134_217_728
/** What the library takes where nothing limits connections. */
const maxLibraryConnections = 100_000
/** Maximum number of connections that are told that the limit is reached. */
const spareConnections = 64
const streamCheckMs = 1_000

/**
 * Opens a listener. Rejects with the system's error (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`) where it cannot, and where
 * the library is not there: ask `problemOfQuic` first.
 */
export async function listenQuic(options: QuicListenOptions): Promise<Listener> {
  const library = await loadQuicLibrary()
  await checkAddressFree(options)
  const { credentials, maxConnections, maxDataStreams } = options
  const { authorities, requiresCertificate } = credentials
  const server = library.createQuicServer({
    ...quicRuntime,
    key: credentials.key,
    cert: credentials.certificate,
    ...(authorities === undefined ? {} : { ca: authorities }),
    clientAuth: authorities === undefined ? 'none' : requiresCertificate ? 'require' : 'request',
    alpn: [mqttOverQuic],
    maxIdleTimeoutMs: options.idleTimeoutMs,
    initialMaxData: connectionWindowBytes,
    initialMaxStreamDataBidiLocal: streamWindowBytes,
    initialMaxStreamsBidi: maxDataStreams + 1,
    maxConnections: maxConnections === undefined ? maxLibraryConnections : maxConnections + spareConnections,
    disableRetry: !options.checksAddresses,
  })
  const { address, port } = await server.listen(options.port, options.host)
  const house = new QuicListener(server, options)
  return { host: address, port, close: () => house.close(), released: () => house.released }
}

/**
 * Binds the address and lets go of it. The library says in words of its own what Node says with a code, and keeps a thread
 * for a listener that could not be opened.
 */
function checkAddressFree({ host, port }: QuicListenOptions): Promise<void> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.bind({ address: host, port, exclusive: true }, () => socket.close(() => resolve()))
  })
}

/** The connections of one listener. */
class QuicListener {
  readonly #server: QuicServer
  readonly #options: QuicListenOptions
  readonly #rules: AddressRules
  readonly #connections = new Map<QuicServerSession, QuicConnection>()
  /** Those without a stream, with the checks that are left to them. */
  readonly #waiting = new Map<QuicServerSession, number>()
  readonly #held: HeldTotal = { bytes: 0, limit: maxHeldBytesTotal }
  readonly #timers: NodeJS.Timeout[]
  /** Connections that are gone, and whose readers have not come so far. */
  #closedUnread = 0
  #isClosing = false
  #whenEmpty: (() => void) | undefined
  /** Resolves when the socket is closed. */
  readonly released: Promise<void>
  readonly #release: () => void

  constructor(server: QuicServer, options: QuicListenOptions) {
    this.#server = server
    this.#options = options
    const { promise, resolve } = Promise.withResolvers<void>()
    this.released = promise
    this.#release = resolve
    this.#rules = new AddressRules(options.accessRules ?? [])
    server.on('session', (session) => this.#handleSession(session))
    server.on('error', (error) => options.onFault?.(error))
    this.#timers = [setInterval(() => this.#closeLate(), streamCheckMs).unref()]
    if (options.keepAliveMs > 0) this.#timers.push(setInterval(() => this.#pingAll(), options.keepAliveMs).unref())
  }

  /**
   * Accepts no new connections and none without a stream: a silent client must not hold the address. The socket is
   * closed when the last connection is gone.
   */
  close(): Promise<void> {
    this.#isClosing = true
    for (const session of this.#waiting.keys()) this.#connections.get(session)?.destroy()
    this.#waiting.clear()
    if (this.#connections.size === 0) return this.#closeServer()
    this.#whenEmpty = () => void this.#closeServer()
    return Promise.resolve()
  }

  async #closeServer(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#server.close()
    this.#release()
  }

  #handleSession(session: QuicServerSession): void {
    session.on('error', ignore)
    const distrust = this.#certificateProblem(session)
    const reason = distrust === undefined ? this.#reasonToRefuse(session) : 'bad-beginning'
    if (reason === undefined) return this.#accept(session)
    session.close(0, reason)
    this.#options.onRefused?.(reason, distrust === undefined ? undefined : `${session.remoteAddress}: ${distrust}`)
  }

  /** What is against its certificate, although its authority has signed it. */
  #certificateProblem(session: QuicServerSession): string | undefined {
    const lists = this.#options.credentials.revocations?.()
    const chain = lists === undefined ? [] : session.getPeerCertificateChain().map(({ raw }) => raw)
    return chain.length === 0 ? undefined : lists?.refusalOf(chain, Date.now())
  }

  #reasonToRefuse({ remoteAddress }: QuicServerSession): ConnectionRefusal | undefined {
    if (!this.#rules.allows(remoteAddress)) return 'address-denied'
    const { maxConnections = Infinity, limits, rates = [] } = this.#options
    if (this.#isClosing || this.#connections.size + this.#closedUnread >= maxConnections) return 'listener-full'
    const lack = limits?.reasonToRefuse
    if (lack !== undefined) return lack
    const nowMs = performance.now()
    // There is no line to wait in: the handshake, which is most of the work, is done.
    const waits = rates.map((rate) => rate.waitMsAt(nowMs))
    return waits.includes(undefined) ? 'too-fast' : limits?.acquire()
  }

  #accept(session: QuicServerSession): void {
    const { maxDataStreams, maxPacketBytes, streamTimeoutMs } = this.#options
    const certificate = session.getPeerCertificate()
    const peer = {
      // Where the socket is for both, clients of IPv4 are in the clothes of IPv6.
      remoteAddress: proxiedAddress(session.remoteAddress) ?? session.remoteAddress,
      remotePort: session.remotePort,
      credentials: {
        certificate: certificate === null ? undefined : toPeerCertificate(certificate),
        pskIdentity: undefined,
      },
      close: () => session.close(),
    }
    const connection = new QuicConnection(peer, { maxDataStreams, maxPacketBytes, maxHeldBytes }, this.#held)
    this.#connections.set(session, connection)
    this.#waiting.set(session, Math.max(1, Math.ceil(streamTimeoutMs / streamCheckMs)))
    session.on('stream', (stream: QuicStreamEnd) => this.#addStream(session, connection, stream))
    session.on('error', (error) => connection.noteError(error))
    session.on('close', () => this.#remove(session, connection))
  }

  #addStream(session: QuicServerSession, connection: QuicConnection, stream: QuicStreamEnd): void {
    connection.addStream(stream, () => {
      if (this.#waiting.delete(session)) this.#options.onStream(connection)
    })
  }

  #remove(session: QuicServerSession, connection: QuicConnection): void {
    if (!this.#connections.delete(session)) return
    this.#waiting.delete(session)
    this.#closedUnread += 1
    // As over TCP, its place is taken until nothing is left to be read of it.
    connection.noteClosed(() => {
      this.#closedUnread -= 1
      this.#options.limits?.release()
    })
    if (this.#connections.size === 0) this.#whenEmpty?.()
  }

  #closeLate(): void {
    for (const [session, checksLeft] of this.#waiting) {
      if (checksLeft > 1) {
        this.#waiting.set(session, checksLeft - 1)
        continue
      }
      this.#waiting.delete(session)
      this.#options.onRefused?.('bad-beginning', `${session.remoteAddress}: it has opened no stream in time`)
      this.#connections.get(session)?.destroy()
    }
  }

  #pingAll(): void {
    for (const session of this.#connections.keys()) session.ping()
  }
}

const ignore = (): void => {}
