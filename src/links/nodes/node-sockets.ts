// The sockets of one purpose, data or heartbeats: listens for other nodes, and dials those to which there is no connection.
//
//   accept, dial --> [TLS] --> NodeStream --> LinkConnection: authentication, hello --> admit --> frames
//
// Connections that are not authenticated are limited in number, bytes and time. Nothing that arrives on a connection ends more than it.

import {
  type Life,
  LinkConnection,
  type LinkEnd,
  type LinkFrameReceiver,
  type LinkHello,
  type LinkIdentity,
  type LinkPurpose,
  type LinkRole,
} from '../../cluster/index.ts'
import {
  type ByteStream,
  ConnectionLimit,
  type Dial,
  dial,
  HandshakeShares,
  type Listener,
  listenTcp,
  listenTls,
  type TcpListenOptions,
} from '../../transports/index.ts'
import {
  createChallenge,
  createDialSettings,
  createLinkSecret,
  type NodeSecurity,
  openNodeUpgrade,
} from './node-security.ts'
import { NodeStream } from './node-stream.ts'

export interface NodeAddress {
  /** Without brackets. */
  readonly host: string
  readonly port: number
}

/** Another node whose life has not ended. */
export interface OtherNode {
  readonly life: Life
  readonly name: string
  /** Of its data connections. Heartbeat connections use the next port. */
  readonly address: NodeAddress
}

/** How a connection ended, or could not be opened. */
export interface ConnectionEnd extends LinkEnd {
  readonly role: LinkRole
  /** The address of the other side. */
  readonly address: string
  /** The name of the other node, if it is known. */
  readonly nodeName: string | undefined
  /** The other side had been accepted as a node of the cluster. */
  readonly wasEstablished: boolean
}

export interface NodeSocketsOptions {
  readonly purpose: LinkPurpose
  readonly identity: LinkIdentity
  readonly listen: NodeAddress
  readonly security: NodeSecurity
  monotonicMs(): number
  /** Returns whether a life is connected, so that it need not be dialed. */
  isConnected(life: Life): boolean
  /** Returns the receiver of the frames. Throws `LinkFailure` if the connection is refused. */
  admit(connection: LinkConnection, hello: LinkHello, nowMs: number): LinkFrameReceiver
  /** Called every half second. */
  onTick(): void
  onEstablished(hello: LinkHello, address: string): void
  onEnd(end: ConnectionEnd): void
  /** A connection was refused before its first byte was read. */
  onRefused(reason: string): void
  /** TLS files have changed and cannot be used; undefined: they can again. */
  onFilesProblem(message: string | undefined): void
}

const tickMs = 500
/** Of both kinds, established or not. */
const maxConnections = 1_024
/** Accepted connections that are not authenticated. */
const maxHandshakes = 64
/** The node with the greater life dials this much later, so that the nodes rarely dial each other at once. */
const laterDialTicks = 2
/** Ticks between two dials of one node: doubled with each failure, up to the maximum. */
const maxDialTicks = 8

interface DialState {
  readonly node: OtherNode
  waitTicks: number
  failures: number
  dial: Dial | undefined
  connection: LinkConnection | undefined
}

interface AcceptedHandshake {
  readonly network: string
  /** It may be ended for another address at any time. */
  readonly sweeps: number
  readonly raw: { readonly bytesRead: number }
  readonly connection: LinkConnection
}

export class NodeSockets {
  readonly #options: NodeSocketsOptions
  readonly #secret: ReturnType<typeof createLinkSecret>
  readonly #shares = new HandshakeShares<AcceptedHandshake>()
  readonly #handshakes = new Map<LinkConnection, AcceptedHandshake>()
  readonly #streams = new Map<LinkConnection, NodeStream>()
  #dials = new Map<Life, DialState>()
  #listener: Listener | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: NodeSocketsOptions) {
    this.#options = options
    this.#secret = createLinkSecret(options.security.secret)
  }

  /** Starts to listen and to dial. Resolves with the port. Rejects with the system's error, or with an error about TLS files. */
  async open(): Promise<number> {
    this.#listener = await this.#listen()
    this.#timer = setInterval(() => this.#tick(), tickMs)
    return this.#listener.port
  }

  /** Replaces the nodes that are dialed. */
  setNodes(nodes: readonly OtherNode[]): void {
    const isLesser = (life: Life): boolean => this.#options.identity.life < life
    const earlier = this.#dials
    this.#dials = new Map(
      nodes.map((node): [Life, DialState] => {
        const waitTicks = isLesser(node.life) ? 0 : laterDialTicks
        const known = earlier.get(node.life)
        return [node.life, known ?? { node, waitTicks, failures: 0, dial: undefined, connection: undefined }]
      }),
    )
    for (const [life, state] of earlier) if (!this.#dials.has(life)) abandon(state)
    if (this.#listener !== undefined) this.#dialMissing()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    for (const state of this.#dials.values()) abandon(state)
    for (const connection of this.#streams.keys()) connection.end('stopping', 'the node stops')
    await this.#listener?.close()
  }

  #listen(): Promise<Listener> {
    const { listen, security } = this.#options
    const onRefused = (reason: string): void => this.#options.onRefused(reason)
    const options: TcpListenOptions = {
      ...listen,
      limits: new ConnectionLimit(maxConnections),
      onStream: (stream) => this.#accept(stream),
      onRefused: (reason, details) => onRefused(details === undefined ? reason : `${reason}: ${details}`),
    }
    if (security.tls === undefined) return listenTcp(options)
    const opening = openNodeUpgrade(security.tls, {
      onProblem: (message) => this.#options.onFilesProblem(message),
      onRefused: (address, reason) => onRefused(`${address}: ${reason}`),
    })
    if ('problem' in opening) return Promise.reject(new Error(`cluster.tls: ${opening.problem.message}`))
    return listenTls({ ...options, upgrade: opening.upgrade })
  }

  #accept(stream: ByteStream): void {
    const connection = this.#connect(stream, 'acceptor', undefined)
    const network = HandshakeShares.toNetwork(stream.remoteAddress)
    if (this.#handshakes.size >= maxHandshakes) {
      const ended = this.#shares.findStalledFor(network)?.connection ?? connection
      ended.end('too-slow', `${maxHandshakes} connections are not authenticated, and this address has most of them`)
      if (ended === connection) return
    }
    const handshake = { network, sweeps: Number.POSITIVE_INFINITY, raw: { bytesRead: 1 }, connection }
    this.#handshakes.set(connection, handshake)
    this.#shares.start(handshake)
  }

  #connect(stream: ByteStream, role: LinkRole, node: OtherNode | undefined): LinkConnection {
    const { purpose, identity } = this.#options
    const readMs = (): number => this.#options.monotonicMs()
    const address = `${stream.remoteAddress}:${stream.remotePort}`
    let nodeName = node?.name
    let wasEstablished = false
    const connection = new LinkConnection({
      role,
      purpose,
      identity,
      expectedLife: node?.life,
      secret: this.#secret,
      challenge: createChallenge(),
      nowMs: readMs(),
      establish: (established, hello) => {
        nodeName = hello.nodeName
        const receiver = this.#options.admit(established, hello, readMs())
        wasEstablished = true
        this.#endHandshake(established)
        this.#options.onEstablished(hello, address)
        return receiver
      },
      onOutput: (ready) => this.#streams.get(ready)?.planWrite(),
      onEnd: (ended, end) => {
        this.#endHandshake(ended)
        // The last bytes, which tell the other side the reason, and then the end of the stream.
        this.#streams.get(ended)?.finish()
        this.#streams.delete(ended)
        this.#options.onEnd({ ...end, role, address, nodeName, wasEstablished })
      },
    })
    const nodeStream = new NodeStream(stream, connection, readMs)
    this.#streams.set(connection, nodeStream)
    nodeStream.planWrite()
    return connection
  }

  #endHandshake(connection: LinkConnection): void {
    const handshake = this.#handshakes.get(connection)
    if (handshake === undefined) return
    this.#handshakes.delete(connection)
    this.#shares.end(handshake)
  }

  #tick(): void {
    const nowMs = this.#options.monotonicMs()
    this.#options.onTick()
    for (const connection of this.#streams.keys()) connection.tick(nowMs)
    this.#dialMissing()
  }

  #dialMissing(): void {
    for (const state of this.#dials.values()) {
      if (this.#options.isConnected(state.node.life)) state.failures = 0
      else if (state.dial === undefined && state.connection?.hasEnded !== false) {
        if (state.waitTicks > 0) state.waitTicks--
        else this.#dial(state)
      }
    }
  }

  #dial(state: DialState): void {
    const { security, purpose } = this.#options
    const { host, port } = state.node.address
    state.waitTicks = Math.min(2 ** state.failures, maxDialTicks)
    state.failures++
    const target = {
      scheme: security.tls === undefined ? 'tcp' : 'tls',
      host,
      port: purpose === 'data' ? port : port + 1,
      path: '',
    } as const
    state.dial = dial(target, createDialSettings(security.tls), {
      onOpen: (stream) => {
        state.dial = undefined
        if (this.#isClosed) return stream.destroy()
        state.connection = this.#connect(stream, 'dialer', state.node)
      },
      onProblem: ({ message }) => {
        state.dial = undefined
        const end: LinkEnd = { reason: 'network', message, isRemote: false }
        const address = `${target.host}:${target.port}`
        this.#options.onEnd({ ...end, role: 'dialer', address, nodeName: state.node.name, wasEstablished: false })
      },
    })
  }
}

function abandon({ dial: pending, connection }: DialState): void {
  pending?.abandon()
  if (connection?.isEstablished === false) connection.end('life-ended', 'the node is not a member any more')
}
