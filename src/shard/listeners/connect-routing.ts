// Routes new connections if a node has several shards. The kernel gives a socket to any shard. CONNECT determines
// the shard that owns the session, and the connection is relayed to that shard.

import { type Connection, toNamespacedName, resolveNamespace } from '../../core/index.ts'
import { counterCells, type Counters, type Log } from '../../telemetry/index.ts'
import { reasonCodes, toReturnCode, type ConnectPacket, type Packet } from '../../protocol/index.ts'
import { FirstPacket } from './first-packet.ts'
import { encodePacket } from '../io/encode-sends.ts'
import type { ShardListener, ShardStart } from '../messages/messages.ts'
import type { ClientOutput } from '../io/client-output.ts'
import type { PeerLinks } from '../peers/peer-links.ts'

export interface ConnectRoutingCallbacks {
  /** Opens the connection on this shard. `first`: its first packet; undefined: the decoder rejected the bytes. The decoder may have further bytes. */
  openHere(output: ClientOutput, first: Packet | undefined): void
  /** Removes the connection from this shard. */
  forget(output: ClientOutput): void
  /** Called when more bytes of the first packet have arrived. */
  onFirstBytes(output: ClientOutput): void
  /** Closes the stream of a removed connection after the appended bytes were sent. */
  closeAfterFlush(output: ClientOutput): void
}

export interface ConnectRoutingDependencies {
  readonly start: ShardStart
  readonly counters: Counters
  readonly log: Log
}

export class ConnectRouting {
  readonly #dependencies: ConnectRoutingDependencies
  readonly #peers: PeerLinks
  readonly #callbacks: ConnectRoutingCallbacks

  constructor(dependencies: ConnectRoutingDependencies, peers: PeerLinks, callbacks: ConnectRoutingCallbacks) {
    this.#dependencies = dependencies
    this.#peers = peers
    this.#callbacks = callbacks
  }

  /** Reads the first packet of a new connection, and routes the connection by it. */
  watch(output: ClientOutput, listener: ShardListener): void {
    const { stream, connection } = output
    const { shardNumber: own, shards = 1 } = this.#dependencies.start
    const findSessionName = (connect: ConnectPacket): string | undefined =>
      this.#findSessionName(connection, listener, connect)
    const place = { own, shards, findSessionName }
    const passToDecoder = stream.onData
    const firstPacket = new FirstPacket(output.decoder, place, {
      openHere: (first, bytes) => {
        stream.onData = passToDecoder
        this.#dependencies.counters.add(counterCells.bytesReceived, bytes)
        if (connection !== undefined) connection.receivedBytes += bytes
        this.#callbacks.openHere(output, first)
      },
      openOnPeer: (peer, connect, received) => {
        this.#callbacks.forget(output)
        this.#relay(output, listener, { peer, connect, received })
      },
    })
    stream.onData = (chunk) => {
      firstPacket.handleChunk(chunk)
      if (stream.onData !== passToDecoder) this.#callbacks.onFirstBytes(output)
    }
  }

  /** Returns the name that the core will give the session. */
  #findSessionName(
    connection: Connection | undefined,
    listener: ShardListener,
    connect: ConnectPacket,
  ): string | undefined {
    const { namespaces } = this.#dependencies.start
    const arrival = connection?.origin
    // The client ID of a certificate replaces that of CONNECT.
    const clientId = arrival?.clientId ?? connect.clientId
    if (clientId === '') return undefined
    const username = arrival?.username ?? connect.username
    const namespace =
      namespaces === undefined ? undefined : resolveNamespace(namespaces, { listener, arrival, username })
    return toNamespacedName(namespace, clientId)
  }

  #relay(
    output: ClientOutput,
    listener: ShardListener,
    { peer, connect, received }: { peer: number; connect: ConnectPacket; received: Buffer },
  ): void {
    const isRelayed = this.#peers.relay(peer, output.stream, listener, received)
    if (!isRelayed) this.#refuseUnavailable(output, listener, connect)
  }

  /** Refuses a client whose owner shard is restarting. The client may retry soon. */
  #refuseUnavailable(output: ClientOutput, { kind, name }: ShardListener, connect: ConnectPacket): void {
    const { version, clientId, username } = connect
    const reason = reasonCodes.serverUnavailable
    const reasonCode = version === 5 ? reason : toReturnCode(reason)
    encodePacket(output, { version }, { type: 'connack', sessionPresent: false, reasonCode, properties: undefined })
    this.#callbacks.closeAfterFlush(output)
    const why = 'the shard of its session is restarting; the client may try again'
    const listenerName = `${kind}:${name}`
    const address = output.stream.remoteAddress
    this.#dependencies.log.warn('client refused', { clientId, username, listener: listenerName, address, why })
  }
}
