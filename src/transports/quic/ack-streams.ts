// Selects the stream for acknowledgements if a client uses several streams: the stream of the acknowledged packet. The packet
// identifier connects both, and a client uses each of its identifiers once at a time over all streams.
//
//   PUBLISH (QoS 1, 2), PUBREL, SUBSCRIBE, UNSUBSCRIBE --identifier--> stream
//   PUBACK, PUBREC, PUBCOMP, SUBACK, UNSUBACK          <--identifier-- stream

import { measurePacket } from './packet-reassembly.ts'

const packetTypes = {
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  suback: 9,
  unsubscribe: 10,
  unsuback: 11,
  pingreq: 12,
} as const

const { publish, puback, pubrec, pubrel, pubcomp, subscribe, suback, unsubscribe, unsuback, pingreq } = packetTypes
const allowedBesideControl = new Set<number>([
  publish,
  puback,
  pubrec,
  pubrel,
  pubcomp,
  subscribe,
  unsubscribe,
  pingreq,
])
const firstFailure = 0x80

/** Packet identifiers are of 16 bits, so there are never more than 65,535 entries. */
export class AckStreams<Stream> {
  readonly #streams = new Map<number, Stream>()
  /** Remaining bytes of a packet whose start was sent. */
  #restBytes = 0
  #restStream: Stream | undefined = undefined

  /** No identifier is stored: everything is sent on the control stream. */
  get isIdle(): boolean {
    return this.#streams.size === 0 && this.#restBytes === 0
  }

  /**
   * Stores the stream of each identifier. Returns false if a packet is allowed on the control stream only. `packets`
   * are complete.
   */
  recordStreams(packets: Buffer, stream: Stream): boolean {
    for (let at = 0; at < packets.length;) {
      const bytes = measurePacket(packets, at)
      // The decoder reports the error.
      if (bytes === undefined || bytes < 0 || at + bytes > packets.length) return true
      if (!allowedBesideControl.has((packets[at] ?? 0) >> 4)) return false
      const identifier = findIdentifier(packets.subarray(at, at + bytes))
      if (identifier !== undefined) this.#streams.set(identifier, stream)
      at += bytes
    }
    return true
  }

  /** Distributes the bytes to send, in order. `stream` undefined: the control stream. */
  distribute(bytes: Buffer, send: (part: Buffer, stream: Stream | undefined) => void): void {
    let begin = 0
    let at = Math.min(this.#restBytes, bytes.length)
    let target = this.#restStream
    this.#restBytes -= at
    while (at < bytes.length) {
      const length = measurePacket(bytes, at)
      // The broker passes complete packets or at least their headers; without a header the stream is unknown.
      const end = length === undefined || length < 0 ? bytes.length : at + length
      const stream = this.#findAckStream(bytes, at, end)
      if (stream !== target && at > begin) {
        send(bytes.subarray(begin, at), target)
        begin = at
      }
      target = stream
      at = Math.min(end, bytes.length)
      this.#restBytes = end - at
    }
    this.#restStream = this.#restBytes > 0 ? target : undefined
    if (at > begin) send(bytes.subarray(begin, at), target)
  }

  #findAckStream(bytes: Buffer, at: number, end: number): Stream | undefined {
    const type = (bytes[at] ?? 0) >> 4
    if (type !== puback && type !== pubrec && type !== pubcomp && type !== suback && type !== unsuback) return undefined
    const body = findBody(bytes, at)
    if (body + 2 > bytes.length) return undefined
    const identifier = bytes.readUInt16BE(body)
    const stream = this.#streams.get(identifier)
    const goesOn = type === pubrec && (body + 2 >= end || (bytes[body + 2] ?? 0) < firstFailure)
    if (!goesOn) this.#streams.delete(identifier)
    return stream
  }
}

/** Returns the identifier of a packet that is acknowledged; undefined if it is not, or is malformed. */
function findIdentifier(packet: Buffer): number | undefined {
  const first = packet[0] ?? 0
  const type = first >> 4
  const body = findBody(packet, 0)
  if (type === subscribe || type === unsubscribe || type === pubrel) return readIdentifier(packet, body)
  if (type !== publish || (first & 0x06) === 0 || body + 2 > packet.length) return undefined
  return readIdentifier(packet, body + 2 + packet.readUInt16BE(body))
}

function readIdentifier(packet: Buffer, at: number): number | undefined {
  return at + 2 > packet.length ? undefined : packet.readUInt16BE(at)
}

/** Position after the fixed header, which is complete. */
function findBody(bytes: Buffer, at: number): number {
  let index = at + 1
  while ((bytes[index] ?? 0) >= 0x80) index += 1
  return index + 1
}
