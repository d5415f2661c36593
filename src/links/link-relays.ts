// The relayed connections of a link, in both directions: sockets of this shard whose sessions the peer has, and sessions of this shard
// whose sockets the peer has.

import type { PeerNumber } from '../core/index.ts'
import type { ByteStream, GatewayClientTraits } from '../transports/index.ts'
import type { LinkBufferReader } from './link-buffer-reader.ts'
import { LinkDecodeError } from './link-decode-error.ts'
import type { LinkRecordWriter } from './link-record-writer.ts'
import { recordKinds } from './record-kinds.ts'
import { RelayAcceptor, type RelayAcceptorLink } from './relay-acceptor.ts'
import { RelayedStream, type RelayedStreamLink, type RelayOrigin, type RemoteListener } from './relayed-stream.ts'
import { readOrigin, readTraits, writeOrigin, writeTraits } from './relay-records.ts'

export interface LinkRelaysDependencies {
  readonly peer: PeerNumber
  readonly records: LinkRecordWriter
  readonly isCongested: () => boolean
  /** Called for a client whose socket the peer has. */
  noteRelayed(stream: RelayedStream, origin: RelayOrigin): void
}

export class LinkRelays implements RelayedStreamLink, RelayAcceptorLink {
  readonly #dependencies: LinkRelaysDependencies
  readonly #records: LinkRecordWriter
  /** Chunks between sockets of this shard and sessions of the peer, in both directions. */
  chunks = 0
  #isClosed = false
  #lastRelay = 0
  /** Sockets of this shard whose sessions the peer has, by a number of this shard. */
  readonly #sockets = new Map<number, RelayAcceptor>()
  #waitingForSpace: RelayAcceptor[] = []
  /** Sessions of this shard whose sockets the peer has, by a number of the peer. */
  readonly #streams = new Map<number, RelayedStream>()

  constructor(dependencies: LinkRelaysDependencies) {
    this.#dependencies = dependencies
    this.#records = dependencies.records
  }

  /** Number of sockets of this shard that are relayed to the peer. */
  get sockets(): number {
    return this.#sockets.size
  }

  /** Relays a connection to the peer from now on. `received`: data that its client has sent already. */
  open(stream: ByteStream, listener: number | RemoteListener, received: readonly Buffer[]): void {
    const relay = (this.#lastRelay = (this.#lastRelay + 1) >>> 0)
    const { remoteAddress, remotePort, credentials, gatewayClient } = stream
    const origin: RelayOrigin = { listener, remoteAddress, remotePort, credentials, gatewayClient }
    this.#records.writeFields(recordKinds.relayOpen, relay, (fields) => writeOrigin(fields, origin))
    const receivedBytes = received.reduce((sum, chunk) => sum + chunk.length, 0)
    this.#sockets.set(relay, new RelayAcceptor(this, relay, stream, receivedBytes))
    for (const chunk of received) this.#records.writeBytes(recordKinds.relayData, relay, chunk)
  }

  /** The link is not congested any more. */
  resume(): void {
    for (const acceptor of this.#waitingForSpace.splice(0)) acceptor.resume()
  }

  /** The peer has ended: closes local sockets of remote sessions, and streams of local sessions. */
  finish(): void {
    this.#isClosed = true
    this.#waitingForSpace = []
    const sockets = [...this.#sockets.values()]
    const streams = [...this.#streams.values()]
    this.#sockets.clear()
    this.#streams.clear()
    for (const acceptor of sockets) acceptor.destroy()
    const error = new Error(`shard ${this.#dependencies.peer}, which has the socket, failed`)
    for (const stream of streams) stream.handleClosed(error)
  }

  // On the shard with the socket.

  relayData(relay: number, chunk: Buffer): boolean {
    this.chunks++
    this.#records.writeBytes(recordKinds.relayData, relay, chunk)
    return !this.#dependencies.isCongested()
  }

  relaySent(relay: number, bytes: number): void {
    if (this.#sockets.has(relay)) this.#records.writeNumbers(recordKinds.relaySent, relay, bytes)
  }

  relayClosed(relay: number, error: Error | undefined): void {
    if (!this.#sockets.delete(relay) || this.#isClosed) return
    this.#records.writeFields(recordKinds.relayClosed, relay, (fields) => {
      fields.putUint8(error === undefined ? 0 : 1)
      if (error !== undefined) fields.putText(error.message)
    })
  }

  relayPeerEnd(relay: number): void {
    if (this.#sockets.has(relay) && !this.#isClosed) this.#records.writeNumber(recordKinds.relayPeerEnd, relay)
  }

  relayDrained(relay: number): void {
    if (this.#sockets.has(relay) && !this.#isClosed) this.#records.writeNumber(recordKinds.relayDrained, relay)
  }

  relayClientChange(relay: number, gatewayClient: GatewayClientTraits): void {
    if (!this.#sockets.has(relay) || this.#isClosed) return
    this.#records.writeFields(recordKinds.relayedClient, relay, (fields) => writeTraits(fields, gatewayClient))
  }

  waitForSpace(acceptor: RelayAcceptor): void {
    this.#waitingForSpace.push(acceptor)
  }

  // On the shard with the session.

  relayWrite(relay: number, bytes: Buffer): void {
    this.#records.writeBytes(recordKinds.relayWrite, relay, bytes)
  }

  relayCredit(relay: number, bytes: number): void {
    this.#records.writeNumbers(recordKinds.relayCredit, relay, bytes)
  }

  relayEnd(relay: number): void {
    this.#records.writeNumber(recordKinds.relayEnd, relay)
  }

  relayDestroy(relay: number): void {
    this.#records.writeNumber(recordKinds.relayDestroy, relay)
  }

  relayDrain(relay: number): void {
    this.#records.writeNumber(recordKinds.relayDrain, relay)
  }

  /** Reads a record of a relay. For a socket that is closed, only the number of the relay is read. */
  read(kind: number, reader: LinkBufferReader): void {
    switch (kind) {
      case recordKinds.relayOpen:
        return this.#openRelayed(reader.number(), readOrigin(reader))
      case recordKinds.relayClosed:
        return this.#closeRelayed(reader.number(), reader.flags(1) === 1 ? reader.text() : undefined)
      case recordKinds.relayedClient:
        return this.#getStream(reader.number()).updateGatewayClient(readTraits(reader))
      case recordKinds.relayData:
        return this.#getStream(reader.uint32()).receive(reader.rest())
      case recordKinds.relaySent:
        return this.#getStream(reader.uint32()).handleSent(reader.uint32())
      case recordKinds.relayPeerEnd:
        return this.#getStream(reader.uint32()).handlePeerEnd()
      case recordKinds.relayDrained:
        return this.#getStream(reader.uint32()).handleDrained()
      // The socket may be closed, if the peer has not received `relayClosed` yet.
      case recordKinds.relayWrite:
        this.chunks++
        return this.#sockets.get(reader.uint32())?.write(reader.rest())
      case recordKinds.relayCredit:
        return this.#sockets.get(reader.uint32())?.addCredit(reader.uint32())
      case recordKinds.relayEnd:
        return this.#sockets.get(reader.uint32())?.end()
      case recordKinds.relayDestroy:
        return this.#sockets.get(reader.uint32())?.destroy()
      case recordKinds.relayDrain:
        return this.#sockets.get(reader.uint32())?.drain()
      default:
        throw new LinkDecodeError(`a record has the unknown kind ${kind}`)
    }
  }

  #getStream(relay: number): RelayedStream {
    const stream = this.#streams.get(relay)
    if (stream === undefined) throw new LinkDecodeError(`the relay ${relay} is not open`)
    return stream
  }

  #openRelayed(relay: number, origin: RelayOrigin): void {
    if (this.#streams.has(relay)) throw new LinkDecodeError(`the relay ${relay} is open already`)
    const stream = new RelayedStream(this, relay, origin)
    this.#streams.set(relay, stream)
    this.#dependencies.noteRelayed(stream, origin)
  }

  #closeRelayed(relay: number, error: string | undefined): void {
    const stream = this.#getStream(relay)
    this.#streams.delete(relay)
    stream.handleClosed(error === undefined ? undefined : new Error(error))
  }
}
