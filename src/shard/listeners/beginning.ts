// The first packet of a connection where a node has several shards: the kernel has dealt the socket to any of them, and
// only CONNECT says which one has the session. Until then the bytes are kept, to be told again to that shard.
//
// Where there is one shard only, this is never made: the chunks go to the decoder as they come.

import { shardOf, type PeerNumber } from '../../core/index.ts'
import { ProtocolError, type ConnectPacket, type Packet, type PacketDecoder } from '../../protocol/index.ts'

export interface FirstPacketCallbacks {
  /** The connection stays here. `first` is its first packet; undefined: the decoder refuses what came. */
  openHere(first: Packet | undefined, bytes: number): void
  /** Its session is with another shard, which is to hear `begun` first. */
  openAt(peer: PeerNumber, connect: ConnectPacket, begun: Buffer): void
}

export interface ShardOfSession {
  readonly own: PeerNumber
  readonly shards: number
  /** The name of the session of a client; undefined: it has none, and stays where it is. */
  sessionOf(connect: ConnectPacket): string | undefined
}

const smallestRoom = 512

export class FirstPacket {
  readonly #decoder: PacketDecoder
  readonly #place: ShardOfSession
  readonly #owner: FirstPacketCallbacks
  /** All that has come: mostly one chunk, as it came. At most doubles what has arrived. */
  #received: Buffer | undefined
  #receivedBytes = 0

  constructor(decoder: PacketDecoder, place: ShardOfSession, owner: FirstPacketCallbacks) {
    this.#decoder = decoder
    this.#place = place
    this.#owner = owner
  }

  /** One of the owner's two answers comes with the chunk that makes the packet whole, or wrong. */
  noteChunk(chunk: Buffer): void {
    this.#keep(chunk)
    this.#decoder.push(chunk)
    const first = this.#next()
    if (first === 'not-yet') return
    const home = first?.type === 'connect' ? this.#shardOf(first) : this.#place.own
    if (first?.type !== 'connect' || home === this.#place.own) this.#owner.openHere(first, this.#receivedBytes)
    else this.#owner.openAt(home, first, this.#bytes())
  }

  /** Undefined: what came is no packet. The decoder says so again when it is asked again. */
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
        const larger = Buffer.allocUnsafeSlow(Math.max(2 * bytes, smallestRoom))
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
