// Collects the first packet of a connection if a node has several shards: the kernel gives the socket to any of them,
// and CONNECT determines the shard that owns the session. Until then the bytes are kept, to be passed to that shard.
//
// With one shard it is not used: chunks go to the decoder directly.

import { shardOf, type PeerNumber } from '../../core/index.ts'
import { ProtocolError, type ConnectPacket, type Packet, type PacketDecoder } from '../../protocol/index.ts'

export interface FirstPacketCallbacks {
  /** The connection stays here. `first` is its first packet; undefined: the decoder rejects the bytes. */
  openHere(first: Packet | undefined, bytes: number): void
  /** Another shard owns the session. It must receive `begun` first. */
  openAt(peer: PeerNumber, connect: ConnectPacket, begun: Buffer): void
}

export interface ShardOfSession {
  readonly own: PeerNumber
  readonly shards: number
  /** Returns the name of the client's session; undefined: there is none, and the connection stays here. */
  sessionOf(connect: ConnectPacket): string | undefined
}

const minBufferBytes = 512

export class FirstPacket {
  readonly #decoder: PacketDecoder
  readonly #place: ShardOfSession
  readonly #owner: FirstPacketCallbacks
  /** All received bytes: usually one chunk. Growing at most doubles them. */
  #received: Buffer | undefined
  #receivedBytes = 0

  constructor(decoder: PacketDecoder, place: ShardOfSession, owner: FirstPacketCallbacks) {
    this.#decoder = decoder
    this.#place = place
    this.#owner = owner
  }

  /** Calls one of the callbacks with the chunk that completes the packet, or makes it invalid. */
  noteChunk(chunk: Buffer): void {
    this.#keep(chunk)
    this.#decoder.push(chunk)
    const first = this.#next()
    if (first === 'not-yet') return
    const home = first?.type === 'connect' ? this.#shardOf(first) : this.#place.own
    if (first?.type !== 'connect' || home === this.#place.own) this.#owner.openHere(first, this.#receivedBytes)
    else this.#owner.openAt(home, first, this.#bytes())
  }

  /** Undefined: the bytes are not a packet. The decoder reports the same when it reads them. */
  #next(): Packet | 'not-yet' | undefined {
    try {
      return this.#decoder.next() ?? 'not-yet'
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      return undefined
    }
  }

  #shardOf(connect: ConnectPacket): PeerNumber {
    const { own, shards } = this.#place
    const session = this.#place.sessionOf(connect)
    return session === undefined ? own : shardOf(session, shards)
  }

  #keep(chunk: Buffer): void {
    const bytes = this.#receivedBytes + chunk.length
    if (this.#received === undefined) this.#received = chunk
    else {
      if (bytes > this.#received.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(2 * bytes, minBufferBytes))
        this.#received.copy(larger, 0, 0, this.#receivedBytes)
        this.#received = larger
      }
      chunk.copy(this.#received, this.#receivedBytes)
    }
    this.#receivedBytes = bytes
  }

  #bytes(): Buffer {
    return this.#received === undefined ? Buffer.alloc(0) : this.#received.subarray(0, this.#receivedBytes)
  }
}
