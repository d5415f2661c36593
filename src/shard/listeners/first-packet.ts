// Collects the first packet of a connection if a node has several shards. The kernel gives the socket to any shard, and CONNECT determines
// the shard that owns the session. Until then the received bytes are stored, because the owner shard must get them.
//
// If a node has one shard, this class is not used: chunks go to the decoder directly.

import { computeOwnerShard, type PeerNumber } from '../../core/index.ts'
import { ProtocolError, type ConnectPacket, type Packet, type PacketDecoder } from '../../protocol/index.ts'

export interface FirstPacketCallbacks {
  /** Opens the connection on this shard. `first` is its first packet; undefined: the decoder rejects the bytes. */
  openHere(first: Packet | undefined, bytes: number): void
  /** Relays the connection to `peer`, which owns the session. The peer must get the bytes `received` first. */
  openOnPeer(peer: PeerNumber, connect: ConnectPacket, received: Buffer): void
}

export interface ShardOfSession {
  readonly own: PeerNumber
  readonly shards: number
  /** Returns the name of the client's session. Undefined: it is not known, and the connection stays on this shard. */
  findSessionName(connect: ConnectPacket): string | undefined
}

const minBufferBytes = 512

export class FirstPacket {
  readonly #decoder: PacketDecoder
  readonly #shards: ShardOfSession
  readonly #callbacks: FirstPacketCallbacks
  /** All received bytes, usually one chunk. */
  #received: Buffer | undefined
  #receivedBytes = 0

  constructor(decoder: PacketDecoder, shards: ShardOfSession, callbacks: FirstPacketCallbacks) {
    this.#decoder = decoder
    this.#shards = shards
    this.#callbacks = callbacks
  }

  /** Calls one of the callbacks with the chunk that completes the packet, or makes it invalid. */
  handleChunk(chunk: Buffer): void {
    this.#append(chunk)
    this.#decoder.push(chunk)
    const first = this.#readNextPacket()
    if (first === 'not-yet') return
    const ownerShard = first?.type === 'connect' ? this.#findShard(first) : this.#shards.own
    if (first?.type !== 'connect' || ownerShard === this.#shards.own)
      this.#callbacks.openHere(first, this.#receivedBytes)
    else this.#callbacks.openOnPeer(ownerShard, first, this.#readReceived())
  }

  /** Returns undefined if the bytes are not a packet. The decoder reports the error when it reads them again. */
  #readNextPacket(): Packet | 'not-yet' | undefined {
    try {
      return this.#decoder.next() ?? 'not-yet'
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      return undefined
    }
  }

  #findShard(connect: ConnectPacket): PeerNumber {
    const { own, shards } = this.#shards
    const session = this.#shards.findSessionName(connect)
    return session === undefined ? own : computeOwnerShard(session, shards)
  }

  #append(chunk: Buffer): void {
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

  #readReceived(): Buffer {
    return this.#received === undefined ? Buffer.alloc(0) : this.#received.subarray(0, this.#receivedBytes)
  }
}
