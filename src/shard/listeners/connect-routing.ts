// How a connection begins where a node has several shards. The kernel has dealt the socket to any of them; CONNECT says
// which one has the session, and there the connection is carried.

import { type Connection, namespacedName, resolveNamespace } from '../../core/index.ts'
import { counterCells, type Counters, type Log } from '../../telemetry/index.ts'
import { reasonCodes, returnCodeFor, type ConnectPacket, type Packet } from '../../protocol/index.ts'
import { FirstPacket } from './beginning.ts'
import { encodePacket } from '../io/encode-sends.ts'
import type { ShardListener, ShardStart } from '../messages/messages.ts'
import type { ClientOutput } from '../io/client-output.ts'
import type { PeerLinks } from '../peers/peer-links.ts'

export interface ConnectRoutingCallbacks {
  /** Its first packet is `first`; undefined: its decoder refuses what came. More may wait in the decoder. */
  openHere(output: ClientOutput, first: Packet | undefined): void
  /** Nobody knows the connection any more. */
  forget(output: ClientOutput): void
  /** More of its first packet has come. */
  noteRead(output: ClientOutput): void
  /** The stream of a connection that was forgotten is to be closed when it has been sent what was appended. */
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
  readonly #owner: ConnectRoutingCallbacks

  constructor(dependencies: ConnectRoutingDependencies, peers: PeerLinks, owner: ConnectRoutingCallbacks) {
    this.#dependencies = dependencies
    this.#peers = peers
    this.#owner = owner
  }

  /** The connection is new and its listener one of this shard's. */
  watch(output: ClientOutput, listener: ShardListener): void {
    const { stream, connection } = output
    const { shardNumber: own, shards = 1 } = this.#dependencies.start
    const sessionOf = (connect: ConnectPacket): string | undefined => this.#sessionOf(connection, listener, connect)
    const place = { own, shards, sessionOf }
    const passOn = stream.onData
    const beginning = new FirstPacket(output.decoder, place, {
      openHere: (first, bytes) => {
        stream.onData = passOn
        this.#dependencies.counters.add(counterCells.bytesReceived, bytes)
        if (connection !== undefined) connection.receivedBytes += bytes
        this.#owner.openHere(output, first)
      },
      openAt: (peer, connect, begun) => {
        this.#owner.forget(output)
        this.#relay(output, listener, { peer, connect, begun })
      },
    })
    stream.onData = (chunk) => {
      beginning.noteChunk(chunk)
      if (stream.onData !== passOn) this.#owner.noteRead(output)
    }
  }

  /** As the core will name it. */
  #sessionOf(connection: Connection | undefined, listener: ShardListener, connect: ConnectPacket): string | undefined {
    const { namespaces } = this.#dependencies.start
    const arrival = connection?.origin
    // What a certificate says counts instead of what CONNECT says.
    const clientId = arrival?.clientId ?? connect.clientId
    if (clientId === '') return undefined
    const username = arrival?.username ?? connect.username
    const namespace =
      namespaces === undefined ? undefined : resolveNamespace(namespaces, { listener, arrival, username })
    return namespacedName(namespace, clientId)
  }

  #relay(
    output: ClientOutput,
    listener: ShardListener,
    { peer, connect, begun }: { peer: number; connect: ConnectPacket; begun: Buffer },
  ): void {
    const isCarried = this.#peers.relay(peer, output.stream, listener.number, begun)
    if (!isCarried) this.#refuseUnavailable(output, listener, connect)
  }

  /** The shard that has its session is being started again: the client may try again soon. */
  #refuseUnavailable(output: ClientOutput, { kind, name }: ShardListener, connect: ConnectPacket): void {
    const { version, clientId, username } = connect
    const reason = reasonCodes.serverUnavailable
    const reasonCode = version === 5 ? reason : returnCodeFor(reason)
    encodePacket(output, { version }, { type: 'connack', sessionPresent: false, reasonCode, properties: undefined })
    this.#owner.closeAfterFlush(output)
    const why = 'the shard of its session is restarting; the client may try again'
    const listenerName = `${kind}:${name}`
    const address = output.stream.remoteAddress
    this.#dependencies.log.warn('client refused', { clientId, username, listener: listenerName, address, why })
  }
}
