// Messages that are sent together, and repeated together until the peer responds (RFC 6347 4.2.4). Their records are
// created again each time.

import { handshakeHeaderBytes, type HandshakeMessage, writeFragment } from './handshake-fragments.ts'
import type { Epoch, RecordLayer } from './record-layer.ts'
import { contentTypes } from './dtls-records.ts'

export type FlightItem =
  | { readonly kind: 'message'; readonly epoch: Epoch; readonly message: HandshakeMessage }
  | { readonly kind: 'change' }

/** Maximum size of a datagram: IPv6 passes this size without fragments. */
const usualBytes = 1_200
/** Every IPv4 network passes this size, for flights that seem to be lost. */
const smallBytes = 508
/** After this number of transmissions, small datagrams are used. */
const timesBeforeSmall = 2
const minFragmentBytes = 64

/** Returns the datagrams of a flight for transmission number `times`. */
export function createDatagrams(items: readonly FlightItem[], records: RecordLayer, times: number): Buffer[] {
  const packing = new Packing(times > timesBeforeSmall ? smallBytes : usualBytes)
  for (const item of items) {
    if (item.kind === 'change') packing.add(records.seal(contentTypes.changeCipherSpec, 0, Buffer.of(1)))
    else addMessage(packing, item, records)
  }
  return packing.finish()
}

function addMessage(
  packing: Packing,
  { epoch, message }: Extract<FlightItem, { kind: 'message' }>,
  records: RecordLayer,
): void {
  const { type, messageSequence, body } = message
  const headerBytes = records.computeOverheadBytes(epoch) + handshakeHeaderBytes
  let offset = 0
  do {
    if (packing.freeBytes < headerBytes + Math.min(minFragmentBytes, body.length - offset)) packing.startDatagram()
    const end = Math.min(body.length, offset + packing.freeBytes - headerBytes)
    const piece = { type, length: body.length, messageSequence, offset, body: body.subarray(offset, end) }
    packing.add(records.seal(contentTypes.handshake, epoch, writeFragment(piece)))
    offset = end
  } while (offset < body.length)
}

class Packing {
  readonly #maxBytes: number
  readonly #datagrams: Buffer[] = []
  #records: Buffer[] = []
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get freeBytes(): number {
    return this.#maxBytes - this.#bytes
  }

  add(record: Buffer): void {
    if (record.length > this.freeBytes) this.startDatagram()
    this.#records.push(record)
    this.#bytes += record.length
  }

  startDatagram(): void {
    if (this.#records.length > 0) this.#datagrams.push(Buffer.concat(this.#records))
    this.#records = []
    this.#bytes = 0
  }

  finish(): Buffer[] {
    this.startDatagram()
    return this.#datagrams
  }
}
