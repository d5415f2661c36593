// Handles a new connection of any socket listener before it reaches the shard.
//
//   accept -> address -> limit -> rate -> (PROXY header) -> onSocket
//
// A plain connection needs no listener, timer or further object here: the two listeners on each socket are shared, and find their
// state in two fields of the socket.

import { rmSync } from 'node:fs'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { ClientAddress, ConnectionRefusal, Listener } from '../streams/byte-stream.ts'
import { ConnectionLimit } from '../limits/connection-limits.ts'
import type { AccessRule, ProxyProtocolConfig } from '../../config/index.ts'
import { AddressRules } from '../limits/address-rules.ts'
import type { ConnectionRate } from '../limits/connection-rate.ts'
import type { SharedSocket } from '../streams/unanswered-socket.ts'
import { ConnectionShare, findShareToEnd } from './connection-share.ts'
import { readProxyHeader } from '../proxy/proxy-reader.ts'

export interface AcceptorOptions {
  /** An address or a host name; an absolute path: a Unix socket at this path, only for the account of the process. */
  readonly host: string
  /** 0: the operating system chooses one. */
  readonly port: number
  /**
   * Several listeners of this machine use the same port and the kernel distributes the connections. This one then opens
   * it `acceptorsPerPort` times.
   */
  readonly reusePort?: boolean
  /** Limit of this listener, and of all listeners of this thread together. Absent: no limit. */
  readonly limits?: ConnectionLimit
  /**
   * Rates of this listener, and of several together. Excess connections wait, and are refused if that takes too long.
   */
  readonly rates?: readonly ConnectionRate[]
  /** Address rules in order: the first match decides. */
  readonly accessRules?: readonly AccessRule[] | undefined
  /** Connections start with a PROXY header. */
  readonly proxyProtocol?: ProxyProtocolConfig | undefined
  /** A connection was refused. `why` has further details for the log. */
  onRefused?(reason: ConnectionRefusal, why?: string): void
  /** The system could not accept a connection. The listener continues. */
  onFault?(error: Error): void
}

/**
 * An accepted socket. It counts for the limit until it closes, and its errors are handled: code that takes it over may
 * set `callbacks` to receive both events, and needs no listeners of its own.
 */
export interface AcceptedSocket extends SharedSocket {
  callbacks: SocketCallbacks | undefined
  connectionLimits: ConnectionLimit
}

export interface SocketCallbacks {
  handleError(error: Error): void
  /** Called last. */
  handleClosed(): void
}

export type OnAccept = (socket: AcceptedSocket, client: ClientAddress) => void

/** An open acceptor. */
export interface OpenAcceptor extends Listener {
  /** Uses `options` for new connections. Host and port are ignored. */
  change(options: AcceptorOptions, onSocket: OnAccept): void
}

/** Maximum connections that the kernel queues during one turn; its own limit may be lower. */
const backlog = 4_096

/**
 * In one poll the event loop accepts one connection from each listening socket. If many clients connect at once (after
 * a restart), a poll costs as much as a client. With eight sockets, among which the kernel distributes connections, up
 * to eight are accepted per poll: a third more connections per second.
 */
const acceptorsPerPort = 8

/**
 * Starts to listen and calls `onSocket` for each accepted client. Rejects with the system's error (`EADDRINUSE`,
 * `EACCES`, `EADDRNOTAVAIL`).
 */
export async function openConnectionAcceptor(options: AcceptorOptions, onSocket: OnAccept): Promise<OpenAcceptor> {
  const acceptor = new ConnectionAcceptor(options, onSocket)
  const first = await openAcceptor(options, acceptor)
  const { host, port } = readBoundAddress(first)
  const acceptors = [first]
  try {
    const more = options.reusePort === true ? acceptorsPerPort - 1 : 0
    for (let i = 0; i < more; i++) acceptors.push(await openAcceptor({ ...options, port }, acceptor))
  } catch (error) {
    // With only some of its sockets it would accept only some of the clients.
    closeAll(acceptors)
    throw error
  }
  return {
    host,
    port,
    close(): Promise<void> {
      // Node reports the end of a server only when its last connection has closed; accepting stops at once.
      closeAll(acceptors)
      acceptor.close()
      return Promise.resolve()
    },
    change: (changed, onAccept) => acceptor.change(changed, onAccept),
  }
}

function openAcceptor(
  { host, port, reusePort = false }: AcceptorOptions,
  acceptor: ConnectionAcceptor,
): Promise<Server> {
  const server = createServer({ noDelay: true }, (socket) => acceptor.handleSocket(socket as AcceptedSocket))
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...prepareListenAddress(host, port), reusePort, exclusive: true, backlog }, () => {
      server.off('error', reject)
      server.on('error', (error) => acceptor.reportFault(error))
      resolve(server)
    })
  })
}

/** Returns whether a listener at `host` is a Unix socket. */
export function isSocketPath(host: string): boolean {
  return host.startsWith('/')
}

/** Returns the address to listen on. A socket file of an earlier thread is deleted first, because only one process uses the data directory. */
function prepareListenAddress(host: string, port: number) {
  if (!isSocketPath(host)) return { host, port }
  rmSync(host, { force: true })
  return { path: host }
}

function readBoundAddress(server: Server): { readonly host: string; readonly port: number } {
  const address = server.address() as AddressInfo | string
  return typeof address === 'string' ? { host: address, port: 0 } : { host: address.address, port: address.port }
}

function closeAll(acceptors: readonly Server[]): void {
  for (const acceptor of acceptors) acceptor.close()
}

class ConnectionAcceptor {
  #options: AcceptorOptions
  #limits: ConnectionLimit
  #rates: readonly ConnectionRate[]
  #onSocket: OnAccept
  /** Undefined if all addresses are allowed. */
  #rules: AddressRules | undefined
  #trustedProxies: AddressRules | undefined
  /** Connections that exceeded the rate, with their timers. */
  readonly #waiting: Map<AcceptedSocket, NodeJS.Timeout>

  constructor(options: AcceptorOptions, onSocket: OnAccept) {
    this.#options = options
    this.#limits = selectLimit(options)
    this.#rates = options.rates ?? []
    this.#onSocket = onSocket
    this.#rules = createAccessRules(options)
    this.#trustedProxies = createTrustedProxies(options)
    this.#waiting = new Map()
  }

  change(options: AcceptorOptions, onSocket: OnAccept): void {
    this.#options = options
    this.#limits = selectLimit(options)
    this.#rates = options.rates ?? []
    this.#onSocket = onSocket
    this.#rules = createAccessRules(options)
    this.#trustedProxies = createTrustedProxies(options)
  }

  reportFault(error: Error): void {
    this.#options.onFault?.(error)
  }

  handleSocket(socket: AcceptedSocket): void {
    // The last file descriptors are reserved for the database and the log. A connection that would use one is accepted
    // and closed, so that it does not wait in the kernel's queue forever.
    const { reasonToRefuse } = this.#limits
    if (reasonToRefuse !== undefined && !this.#makeSpaceFor(socket)) return this.#refuse(socket, reasonToRefuse)
    if (!this.#isAddressAllowed(socket)) return this.#refuse(socket, 'address-denied')
    const waitMs = this.#rates.length === 0 ? 0 : this.#reserveWaitMs()
    if (waitMs === undefined) return this.#refuse(socket, 'too-fast')
    const refusal = this.#limits.acquire()
    if (refusal !== undefined) return this.#refuse(socket, refusal)
    socket.connectionLimits = this.#limits
    socket.callbacks = undefined
    socket.share = new ConnectionShare(socket, normalizeAddress(socket.remoteAddress), this.#limits)
    socket.on('error', passError)
    socket.on('close', passClose)
    if (waitMs === 0) this.#accept(socket)
    else this.#acceptLater(socket, waitMs)
  }

  /** Closes an unanswered connection of the address that has most, if this address has fewer. Returns whether a connection can be accepted now. */
  #makeSpaceFor(socket: AcceptedSocket): boolean {
    const address = normalizeAddress(socket.remoteAddress)
    const share = this.#isAddressAllowed(socket) ? findShareToEnd(this.#limits, address) : undefined
    if (share === undefined) return false
    const closed = share.raw as AcceptedSocket
    // The connection counts until it has closed, which is too late for the one that takes its place.
    closed.connectionLimits.release()
    closed.connectionLimits = uncounted
    share.end()
    const why = `${share.network} has the most connections of all addresses without an accepted CONNECT, and the limit is reached`
    this.#reportRefused(closed, 'invalid-handshake', why)
    return this.#limits.reached === undefined
  }

  /** Stops accepting. */
  close(): void {
    for (const [socket, timer] of this.#waiting) {
      clearTimeout(timer)
      socket.destroy()
    }
    this.#waiting.clear()
  }

  #reserveWaitMs(): number | undefined {
    const nowMs = performance.now()
    let maxMs = 0
    for (const rate of this.#rates) {
      const waitMs = rate.reserveWaitMs(nowMs)
      if (waitMs === undefined) return undefined
      maxMs = Math.max(maxMs, waitMs)
    }
    return maxMs
  }

  /**
   * Accepts the connection after a wait, as soon as the rate allows, in order. Meanwhile the socket has no listener, so
   * nothing is read beyond its own buffer. If such connections were closed instead, thousands of clients that lost their
   * broker together would reconnect at once, again and again.
   */
  #acceptLater(socket: AcceptedSocket, waitMs: number): void {
    const timer = setTimeout(() => {
      this.#waiting.delete(socket)
      if (socket.destroyed) return
      // Address rules and trusted proxies may have changed meanwhile.
      if (this.#isAddressAllowed(socket)) this.#accept(socket)
      else this.#reportRefused(socket, 'address-denied', normalizeAddress(socket.remoteAddress))
    }, waitMs)
    this.#waiting.set(socket, timer)
  }

  /** Checks the address of the socket: that of the client, or of its proxy. */
  #isAddressAllowed(socket: AcceptedSocket): boolean {
    const rules = this.#options.proxyProtocol === undefined ? this.#rules : this.#trustedProxies
    return rules === undefined || rules.allows(normalizeAddress(socket.remoteAddress))
  }

  #accept(socket: AcceptedSocket): void {
    const peer = { address: normalizeAddress(socket.remoteAddress), port: socket.remotePort ?? 0 }
    const { proxyProtocol } = this.#options
    if (proxyProtocol === undefined) return this.#onSocket(socket, peer)
    readProxyHeader({
      socket,
      timeoutMs: proxyProtocol.timeoutMs,
      onClient: (client = peer) => {
        socket.share?.move(client.address)
        if (this.#rules === undefined || this.#rules.allows(client.address)) this.#onSocket(socket, client)
        else this.#reportRefused(socket, 'address-denied', client.address)
      },
      onMalformed: (why) => this.#reportRefused(socket, 'invalid-handshake', `${peer.address}: ${why}`),
    })
  }

  #refuse(socket: AcceptedSocket, reason: ConnectionRefusal): void {
    socket.on('error', ignore)
    this.#reportRefused(socket, reason, normalizeAddress(socket.remoteAddress))
  }

  #reportRefused(socket: AcceptedSocket, reason: ConnectionRefusal, why: string): void {
    socket.destroy()
    this.#options.onRefused?.(reason, why)
  }
}

function selectLimit({ limits }: AcceptorOptions): ConnectionLimit {
  return limits ?? new ConnectionLimit(Number.POSITIVE_INFINITY)
}

function createAccessRules({ accessRules = [] }: AcceptorOptions): AddressRules | undefined {
  return accessRules.length === 0 ? undefined : new AddressRules(accessRules)
}

function createTrustedProxies({ proxyProtocol }: AcceptorOptions): AddressRules | undefined {
  const trusted = proxyProtocol?.trusted ?? []
  return trusted.length === 0 ? undefined : new AddressRules(trusted.map((range) => ({ isAllowed: true, range })))
}

const ignore = (): void => {}

/** Of connections that were closed for others. */
const uncounted = new ConnectionLimit(Number.POSITIVE_INFINITY)

function passError(this: Socket, error: Error): void {
  const { callbacks } = this as AcceptedSocket
  callbacks?.handleError(error)
}

function passClose(this: Socket): void {
  const { callbacks, connectionLimits, share } = this as AcceptedSocket
  connectionLimits.release()
  share?.end()
  callbacks?.handleClosed()
}

/** An IPv4 client of an IPv6 socket gets its IPv4 address. */
function normalizeAddress(address: string | undefined): string {
  if (address === undefined) return ''
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address
}
