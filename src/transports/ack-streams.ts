// Where an answer goes when a client uses several streams: to the one that its question came by. The packet identifier is
// what ties them together, and a client has each of its identifiers in use once, whatever streams it uses.
//
//   PUBLISH (QoS 1, 2), PUBREL, SUBSCRIBE, UNSUBSCRIBE --identifier--> stream
//   PUBACK, PUBREC, PUBCOMP, SUBACK, UNSUBACK          <--identifier-- stream

import { packetBytesAt } from './packet-reassembly.ts'

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
  /** What follows of a packet whose beginning has been sent. */
  #restBytes = 0
  #restStream: Stream | undefined = undefined

  /** Nothing has to be looked at: all that is sent goes to the control stream. */
  get isIdle(): boolean {
    return this.#streams.size === 0 && this.#restBytes === 0
  }

  /**
   * Remembers who asked what. False: there is a packet among them that belongs on the control stream only. `packets` are
   * whole.
   */
  note(packets: Buffer, stream: Stream): boolean {
    for (let at = 0; at < packets.length;) {
      const bytes = packetBytesAt(packets, at)
      // The decoder reports what is wrong with it.
      if (bytes === undefined || bytes < 0 || at + bytes > packets.length) return true
      if (!allowedBesideControl.has((packets[at] ?? 0) >> 4)) return false
      const identifier = identifierToAcknowledge(packets.subarray(at, at + bytes))
      if (identifier !== undefined) this.#streams.set(identifier, stream)
      at += bytes
    }
    return true
  }

  /** Deals out what is to be sent, in order. `stream` undefined: the control stream. */
  distribute(bytes: Buffer, send: (part: Buffer, stream: Stream | undefined) => void): void {
    let begin = 0
    let at = Math.min(this.#restBytes, bytes.length)
    let target = this.#restStream
    this.#restBytes -= at
    while (at < bytes.length) {
      const length = packetBytesAt(bytes, at)
      // The broker hands out packets whole or at least their headers; without a header nothing can be told.
      const end = length === undefined || length < 0 ? bytes.length : at + length
      const stream = this.#streamOfAck(bytes, at, end)
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

  #streamOfAck(bytes: Buffer, at: number, end: number): Stream | undefined {
    const type = (bytes[at] ?? 0) >> 4
    if (type !== puback && type !== pubrec && type !== pubcomp && type !== suback && type !== unsuback) return undefined
    const body = bodyAt(bytes, at)
    if (body + 2 > bytes.length) return undefined
    const identifier = bytes.readUInt16BE(body)
    const stream = this.#streams.get(identifier)
    const goesOn = type === pubrec && (body + 2 >= end || (bytes[body + 2] ?? 0) < firstFailure)
    if (!goesOn) this.#streams.delete(identifier)
    return stream
  }
}

/** The identifier of a packet that is to be answered; undefined if it needs no answer, or is malformed. */
function identifierToAcknowledge(packet: Buffer): number | undefined {
  const first = packet[0] ?? 0
  const type = first >> 4
  const body = bodyAt(packet, 0)
  if (type === subscribe || type === unsubscribe || type === pubrel) return identifierAt(packet, body)
  if (type !== publish || (first & 0x06) === 0 || body + 2 > packet.length) return undefined
  return identifierAt(packet, body + 2 + packet.readUInt16BE(body))
}

function identifierAt(packet: Buffer, at: number): number | undefined {
  return at + 2 > packet.length ? undefined : packet.readUInt16BE(at)
}

/** Behind the fixed header, which is whole. */
function bodyAt(bytes: Buffer, at: number): number {
  let index = at + 1
  while ((bytes[index] ?? 0) >= 0x80) index += 1
  return index + 1
}
