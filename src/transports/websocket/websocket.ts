// WebSocket (RFC 6455): an HTTP server that only upgrades, and WebSocket connections as byte streams. Frames contain MQTT in pieces
// of any size: packet boundaries are unknown here [MQTT-6.0.0-2].
//
//   socket --HTTP request--> checkUpgrade --101--> WebSocket --binary frames--> ByteStream
//
// There is no compression (a small frame could need any amount of memory), no HTTP keep-alive (one request per connection), and no own
// event emitter. As with TCP, listeners are shared functions that find the stream through a field.

import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { AccessRule, WebSocketConfig } from '../../config/index.ts'
import { AddressRules } from '../limits/address-rules.ts'
import type { ByteStream, ReconfigurableListener, ClientAddress, StreamCredentials } from '../streams/byte-stream.ts'
import { type AcceptorOptions, openConnectionAcceptor, type OnAccept } from '../tcp/connection-acceptor.ts'
import type { SharedSocket } from '../streams/unanswered-socket.ts'
import type { TlsUpgrade } from '../tcp/tls-upgrade.ts'
import { AcceptedWebSocket, WebSocketServer } from './websocket-library.ts'
import { createWebSocketStream } from './websocket-stream.ts'
import { checkUpgrade, parsePath, selectSubprotocol, type UpgradeRules, webSocketVersion } from './upgrade-request.ts'

/** A connection after the connection acceptor, and after TLS if configured. */
export interface IncomingSocket extends ClientAddress {
  readonly socket: SharedSocket
  readonly credentials: StreamCredentials | undefined
}

export interface WebSocketOptions extends WebSocketConfig, UpgradeRules {
  /** Called for each connection. Must set `onData` and `onClose` of the stream before it returns. */
  onStream(stream: ByteStream): void
  /**
   * Address rules. Checked here only if a proxy sends the client's address in a header: otherwise the connection
   * acceptor has checked them.
   */
  readonly accessRules?: readonly AccessRule[] | undefined
  /** A request was refused: no WebSocket, an unsupported version, or not allowed. `why` is for the log. */
  onRefused?(reason: 'invalid-handshake' | 'address-denied', why: string): void
}

export type WebSocketListenOptions = WebSocketOptions &
  AcceptorOptions & {
    /** All connections use TLS, with the same client verification as without WebSocket. */
    readonly tls?: TlsUpgrade | undefined
  }

/** Maximum bytes of all request headers: cookies of a site that contains the broker's path are among them. */
const maxHeaderBytes = 16_384
/** Maximum parts of a message: frames, and chunks from the network; each costs more than its bytes. */
const maxFragments = 4_096
const minBytesPerChunk = 64
/** A peer that does not respond to the close frame is disconnected after this time. */
const closeTimeoutMs = 5_000
const upgradeCheckMs = 1_000

const ignore = (): void => {}

/** Starts to listen. Rejects with the system's error (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`). */
export async function listenWebSocket(
  options: WebSocketListenOptions,
): Promise<ReconfigurableListener<WebSocketListenOptions>> {
  let { tls } = options
  const acceptor = await openConnectionAcceptor(toAcceptorOptions(options), createAcceptHandler(options))
  return {
    host: acceptor.host,
    port: acceptor.port,
    close(): Promise<void> {
      tls?.close()
      return acceptor.close()
    },
    reload: async () => tls?.reload(),
    change(changed): void {
      tls?.retire()
      tls = changed.tls
      acceptor.change(toAcceptorOptions(changed), createAcceptHandler(changed))
    },
  }
}

/**
 * If a proxy sends client addresses, address rules apply to these. The connection acceptor knows only the proxy's
 * address.
 */
function toAcceptorOptions(options: WebSocketListenOptions): AcceptorOptions {
  return options.addressHeader === undefined ? options : { ...options, accessRules: undefined }
}

function createAcceptHandler(options: WebSocketListenOptions): OnAccept {
  const { tls } = options
  const upgrade = new WebSocketAcceptor(options)
  return (raw, address) => {
    if (tls === undefined) return upgrade.handleSocket({ ...address, socket: raw, credentials: undefined })
    tls.startHandshake(raw, address, (socket: SharedSocket, client, credentials) => {
      socket.share = raw.share
      upgrade.handleSocket({ ...client, socket, credentials })
    })
  }
}

/** A socket before its upgrade. */
interface PendingUpgrade {
  readonly incoming: IncomingSocket
  checksLeft: number
  /** The response was sent. Further data is ignored. */
  isRefused: boolean
  readonly onClosed: () => void
}

/**
 * Takes accepted sockets and creates byte streams for valid upgrade requests. It has no port: the listener passes the
 * sockets in.
 */
export class WebSocketAcceptor {
  readonly #options: WebSocketOptions
  readonly #http: Server
  readonly #webSockets: WebSocketServer
  readonly #rules: AddressRules | undefined
  readonly #waiting = new Map<Duplex, PendingUpgrade>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: WebSocketOptions) {
    this.#options = options
    const { accessRules = [], addressHeader } = options
    this.#rules = addressHeader === undefined || accessRules.length === 0 ? undefined : new AddressRules(accessRules)
    this.#http = createServer({ maxHeaderSize: maxHeaderBytes, keepAlive: false })
    this.#http.on('request', (request, response) => this.#respondToRequest(request, response))
    this.#http.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
    this.#http.on('clientError', (error, socket) =>
      this.#refuse(socket, toHttpStatus(error), `no request: ${error.message}`),
    )
    this.#webSockets = new WebSocketServer(createWebSocketSettings(options.maxMessageBytes))
    this.#webSockets.on('wsClientError', (error, socket) => this.#refuse(socket, 400, error.message))
  }

  /** A new client. It has a limited time to request an upgrade. */
  handleSocket(incoming: IncomingSocket): void {
    const { socket } = incoming
    const checksLeft = Math.max(1, Math.ceil(this.#options.upgradeTimeoutMs / upgradeCheckMs))
    const onClosed = (): void => this.#remove(socket)
    this.#waiting.set(socket, { incoming, checksLeft, isRefused: false, onClosed })
    this.#timer ??= setInterval(() => this.#closeLate(), upgradeCheckMs).unref()
    socket.once('close', onClosed)
    this.#http.emit('connection', socket)
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const waiting = this.#waiting.get(socket)
    assert(waiting !== undefined, 'a socket that requests an upgrade was added before')
    if (waiting.isRefused) {
      socket.resume()
      return
    }
    const { url = '', httpVersion, headers } = request
    const result = checkUpgrade({ url, httpVersion, headers }, this.#options)
    if (!result.allowed) return this.#refuse(socket, result.status, result.why)
    const { incoming } = waiting
    const address = result.clientAddress ?? incoming.address
    if (result.clientAddress !== undefined) incoming.socket.share?.move(address)
    if (this.#rules?.allows(address) === false) {
      this.#reportRefusal(socket, address, 'address-denied')
      return this.#refuse(socket, 403, 'clients of this address may not connect')
    }
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      this.#remove(socket)
      this.#options.onStream(createWebSocketStream(webSocket, { ...incoming, address }, incoming.socket))
    })
  }

  /** A request without an upgrade, usually of a browser. */
  #respondToRequest(request: IncomingMessage, response: ServerResponse): void {
    const isHere = parsePath(request.url ?? '') === this.#options.path
    const status = isHere ? 426 : 404
    const why = isHere ? 'MQTT is served here, over WebSocket' : 'not found'
    if (isHere) response.setHeader('Upgrade', 'websocket')
    response.writeHead(status, { 'Content-Type': 'text/plain', Connection: 'close' })
    response.end(`${why}\n`)
    this.#reportRefusal(request.socket, `${status}: ${why}`)
  }

  /** Sends one short response and closes. A peer that does not read it is disconnected like one without a request. */
  #refuse(socket: Duplex, status: number, why: string): void {
    if (socket.destroyed || socket.writableEnded) return
    const reason = STATUS_CODES[status] ?? ''
    const version = status === 426 ? `Sec-WebSocket-Version: ${webSocketVersion}\r\n` : ''
    const head = `HTTP/1.1 ${status} ${reason}\r\n${version}Connection: close\r\nContent-Type: text/plain\r\n`
    socket.on('error', ignore)
    socket.resume()
    socket.end(`${head}Content-Length: ${why.length + 1}\r\n\r\n${why}\n`)
    this.#reportRefusal(socket, `${status}: ${why}`)
  }

  #reportRefusal(
    socket: Duplex,
    why: string,
    reason: 'invalid-handshake' | 'address-denied' = 'invalid-handshake',
  ): void {
    const waiting = this.#waiting.get(socket)
    if (waiting === undefined || waiting.isRefused) return
    waiting.isRefused = true
    this.#options.onRefused?.(reason, `${waiting.incoming.address}: ${why}`)
  }

  #closeLate(): void {
    for (const [socket, waiting] of this.#waiting) {
      waiting.checksLeft -= 1
      if (waiting.checksLeft > 0) continue
      this.#reportRefusal(socket, 'no WebSocket request in time')
      socket.destroy()
    }
  }

  #remove(socket: Duplex): void {
    const waiting = this.#waiting.get(socket)
    if (waiting === undefined) return
    socket.off('close', waiting.onClosed)
    this.#waiting.delete(socket)
    if (this.#waiting.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

function createWebSocketSettings(maxMessageBytes: number) {
  return {
    noServer: true,
    WebSocket: AcceptedWebSocket,
    clientTracking: false,
    perMessageDeflate: false,
    // The stream responds to pings, one at a time.
    autoPong: false,
    // Text is refused, whatever its content.
    skipUTF8Validation: true,
    allowSynchronousEvents: true,
    maxPayload: maxMessageBytes,
    maxFragments,
    maxBufferedChunks: Math.max(maxFragments, Math.ceil(maxMessageBytes / minBytesPerChunk)),
    closeTimeout: closeTimeoutMs,
    handleProtocols: (offered: Set<string>) => selectSubprotocol(offered) ?? false,
  } as const
}

/** Returns the status for an error of the HTTP parser. */
function toHttpStatus(error: NodeJS.ErrnoException): number {
  return error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400
}
