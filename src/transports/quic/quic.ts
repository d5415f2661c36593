// QUIC connections as byte streams. The library is optional: if it is missing or cannot be loaded, the broker starts without
// QUIC and logs the reason.
//
// The library has a thread of its own for the socket and delivers data in batches. It cannot change its certificate: a
// listener with a new one is opened again. It does not support revocation lists: they are checked after the handshake.

import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { AccessRule, QuicConfig } from '../../config/index.ts'
import { AddressRules } from '../limits/address-rules.ts'
import { parseProxiedAddress } from '../proxy/parse-proxied-address.ts'
import type { ByteStream, ConnectionRefusal, Listener } from '../streams/byte-stream.ts'
import type { ConnectionLimit } from '../limits/connection-limits.ts'
import type { ConnectionRate } from '../limits/connection-rate.ts'
import type { QuicCredentials } from './quic-credentials.ts'
import { loadQuicLibrary, mqttOverQuic, quicRuntime, type QuicServer, type QuicServerSession } from './quic-library.ts'
import { toPeerCertificate } from '../../../lib/certificates/index.ts'
import { QuicConnection, type QuicStreamEnd } from './quic-connection.ts'
import type { HeldTotal } from './quic-shutdown.ts'

export interface QuicListenOptions extends QuicConfig {
  readonly host: string
  /** 0: the operating system chooses one. */
  readonly port: number
  readonly credentials: QuicCredentials
  /**
   * Maximum connections at the same time; further ones are closed after the handshake. Undefined: no limit of its own.
   */
  readonly maxConnections?: number | undefined
  /** Limit of all listeners of this thread together. Absent: no limit. */
  readonly limits?: ConnectionLimit
  readonly rates?: readonly ConnectionRate[]
  /** Address rules; the first match decides. */
  readonly accessRules?: readonly AccessRule[]
  /** Called for each connection. Must set `onData` and `onClose` of the stream before it returns. */
  onStream(stream: ByteStream): void
  /** A connection was refused. `why` has further details for the log. */
  onRefused?(reason: ConnectionRefusal, why?: string): void
  /** The library reported an error that belongs to no connection. The listener continues. */
  onFault?(error: Error): void
}

/** Flow control windows of a connection and of each stream. The library does not work with smaller ones. */
const connectionWindowBytes = 10_000_000
const streamWindowBytes = 1_000_000
/** Maximum bytes held while reading is paused: of one connection, and of all of a listener. */
const maxHeldBytes = 8_388_608
const maxHeldBytesTotal = 134_217_728
/** Maximum for the library if connections are not limited. */
const maxLibraryConnections = 100_000
/** Maximum number of connections beyond the limit that are closed with a reason. */
const spareConnections = 64
const streamCheckMs = 1_000

/**
 * Opens a listener. Rejects with the system's error (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`), or if the library is
 * missing: call `problemOfQuic` first.
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
  const listener = new QuicListener(server, options)
  return { host: address, port, close: () => listener.close(), waitUntilReleased: () => listener.released }
}

/**
 * Binds and releases the address. The library reports an error in its own words instead of a code of Node, and keeps a
 * thread for a listener that could not be opened.
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
  /** Connections without a stream, with their remaining checks. */
  readonly #waiting = new Map<QuicServerSession, number>()
  readonly #held: HeldTotal = { bytes: 0, limit: maxHeldBytesTotal }
  readonly #timers: NodeJS.Timeout[]
  /** Closed connections whose data is not read yet. */
  #closedUnread = 0
  #isClosing = false
  #onEmpty: (() => void) | undefined
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
   * Accepts no new connections, and closes those without a stream: a silent client must not keep the address in use.
   * The socket closes with the last connection.
   */
  close(): Promise<void> {
    this.#isClosing = true
    for (const session of this.#waiting.keys()) this.#connections.get(session)?.destroy()
    this.#waiting.clear()
    if (this.#connections.size === 0) return this.#closeServer()
    this.#onEmpty = () => void this.#closeServer()
    return Promise.resolve()
  }

  async #closeServer(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#server.close()
    this.#release()
  }

  #handleSession(session: QuicServerSession): void {
    session.on('error', ignore)
    const certificateProblem = this.#findCertificateProblem(session)
    const reason = certificateProblem === undefined ? this.#findRefusal(session) : 'invalid-handshake'
    if (reason === undefined) return this.#accept(session)
    session.close(0, reason)
    this.#options.onRefused?.(
      reason,
      certificateProblem === undefined ? undefined : `${session.remoteAddress}: ${certificateProblem}`,
    )
  }

  /** Returns why a certificate signed by an authority is not accepted. */
  #findCertificateProblem(session: QuicServerSession): string | undefined {
    const lists = this.#options.credentials.getRevocationLists?.()
    const chain = lists === undefined ? [] : session.getPeerCertificateChain().map(({ raw }) => raw)
    return chain.length === 0 ? undefined : lists?.findRefusal(chain, Date.now())
  }

  #findRefusal({ remoteAddress }: QuicServerSession): ConnectionRefusal | undefined {
    if (!this.#rules.allows(remoteAddress)) return 'address-denied'
    const { maxConnections = Infinity, limits, rates = [] } = this.#options
    if (this.#isClosing || this.#connections.size + this.#closedUnread >= maxConnections) return 'listener-full'
    const limitReason = limits?.reasonToRefuse
    if (limitReason !== undefined) return limitReason
    const nowMs = performance.now()
    // Connections cannot wait: the handshake, most of the work, is done.
    const waits = rates.map((rate) => rate.reserveWaitMs(nowMs))
    return waits.includes(undefined) ? 'too-fast' : limits?.acquire()
  }

  #accept(session: QuicServerSession): void {
    const { maxDataStreams, maxPacketBytes, streamTimeoutMs } = this.#options
    const certificate = session.getPeerCertificate()
    const peer = {
      // On a socket for both, IPv4 clients have IPv6 form.
      remoteAddress: parseProxiedAddress(session.remoteAddress) ?? session.remoteAddress,
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
    session.on('error', (error) => connection.recordError(error))
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
    // As with TCP, it counts as a connection until all of its data was read.
    connection.handleClosed(() => {
      this.#closedUnread -= 1
      this.#options.limits?.release()
    })
    if (this.#connections.size === 0) this.#onEmpty?.()
  }

  #closeLate(): void {
    for (const [session, checksLeft] of this.#waiting) {
      if (checksLeft > 1) {
        this.#waiting.set(session, checksLeft - 1)
        continue
      }
      this.#waiting.delete(session)
      this.#options.onRefused?.('invalid-handshake', `${session.remoteAddress}: it has opened no stream in time`)
      this.#connections.get(session)?.destroy()
    }
  }

  #pingAll(): void {
    for (const session of this.#connections.keys()) session.ping()
  }
}

const ignore = (): void => {}
