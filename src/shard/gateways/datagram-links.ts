// Passes datagrams to the shard of their client: there is one stream for each socket and shard, which uses the links between shards
// like the stream of a relayed client. A datagram in the stream has this form:
//
//   length u32 of all that follows | port u16 | length of the address u8 | address | datagram

import { createStreamPair } from '../../mqtt-client/index.ts'
import type { PeerAddress } from '../../transports/index.ts'
import type { ByteStream } from '../../transports/index.ts'

const lengthBytes = 4
const headBytes = lengthBytes + 3
/** Maximum bytes of a stream that the other shard has not read. Further datagrams are dropped. */
const maxWaitingBytes = 4_194_304

/** Opens a stream to another shard. Returns false if that shard is not running. */
export type OpenRelay = (shard: number, listener: number, stream: ByteStream) => boolean

interface Outgoing {
  readonly stream: ByteStream
  waitingBytes: number
}

export class DatagramLinks {
  readonly #openRelay: OpenRelay
  readonly #outgoing = new Map<string, Outgoing>()

  constructor(openRelay: OpenRelay) {
    this.#openRelay = openRelay
  }

  /** Sends a datagram to another shard. Returns false if it is dropped. */
  send(shard: number, listener: number, bytes: Buffer, peer: PeerAddress): boolean {
    const outgoing = this.#ensureOutgoing(shard, listener)
    if (outgoing === undefined || outgoing.waitingBytes > maxWaitingBytes) return false
    const framed = encodeDatagram(bytes, peer)
    outgoing.waitingBytes += framed.length
    outgoing.stream.write(framed, () => (outgoing.waitingBytes -= framed.length))
    return true
  }

  /** Closes the streams of a socket. */
  close(listener: number): void {
    for (const [key, { stream }] of this.#outgoing) if (key.startsWith(`${listener}/`)) stream.destroy()
  }

  #ensureOutgoing(shard: number, listener: number): Outgoing | undefined {
    const key = `${listener}/${shard}`
    const known = this.#outgoing.get(key)
    if (known !== undefined) return known
    const [ownEnd, relayedEnd] = createStreamPair((work) => process.nextTick(work))
    if (!this.#openRelay(shard, listener, relayedEnd)) return undefined
    const outgoing = { stream: ownEnd, waitingBytes: 0 }
    this.#outgoing.set(key, outgoing)
    ownEnd.onClose = () => void this.#outgoing.delete(key)
    return outgoing
  }
}

function encodeDatagram(bytes: Buffer, { address, port }: PeerAddress): Buffer {
  const addressBytes = Buffer.from(address)
  const framed = Buffer.allocUnsafe(headBytes + addressBytes.length + bytes.length)
  framed.writeUInt32BE(framed.length - lengthBytes, 0)
  framed.writeUInt16BE(port, lengthBytes)
  framed.writeUInt8(addressBytes.length, lengthBytes + 2)
  addressBytes.copy(framed, headBytes)
  bytes.copy(framed, headBytes + addressBytes.length)
  return framed
}

/** Reads datagrams from the stream of another shard. */
export function receiveDatagrams(stream: ByteStream, take: (bytes: Buffer, peer: PeerAddress) => void): void {
  let left: Buffer = Buffer.alloc(0)
  stream.onData = (chunk) => {
    left = left.length === 0 ? chunk : Buffer.concat([left, chunk])
    let at = 0
    while (left.length - at >= lengthBytes) {
      const end = at + lengthBytes + left.readUInt32BE(at)
      if (end > left.length) break
      const addressEnd = at + headBytes + left.readUInt8(at + lengthBytes + 2)
      const peer = {
        address: left.toString('latin1', at + headBytes, addressEnd),
        port: left.readUInt16BE(at + lengthBytes),
      }
      // The datagram is copied, so that a stored datagram does not keep the chunk in memory.
      take(Buffer.from(left.subarray(addressEnd, end)), peer)
      at = end
    }
    left = at === left.length ? Buffer.alloc(0) : Buffer.from(left.subarray(at))
  }
}
