// Limits of a gateway: 10 responses per second to an unverified address and port, 1,000 per second to all of them, and the number of clients
// per address. All shards count in one table:
//
//   all responses | responses by address, hashed | shard 0: clients by address, hashed | shard 1: ...
//
// A response cell is a token bucket as one number: the time in ms at which the bucket is full again. Addresses that share a cell share its
// limit.

import { isLoopback } from '../transports/index.ts'

const perPeerPerSecond = 10
const totalPerSecond = 1_000
const msPerSecond = 1_000
const responseCells = 4_096
const clientCells = 8_192
const bytesPerCell = 4
/** Maximum clients of one address, except for loopback. */
export const maxClientsPerAddress = 1_024

/** Creates the table for the sockets of one listener on all shards. */
export function createAddressTable(shards: number): SharedArrayBuffer {
  return new SharedArrayBuffer((1 + responseCells + shards * clientCells) * bytesPerCell)
}

/** Sets the clients of a shard to zero. Called when the thread of the shard has ended, and its clients with it. */
export function freeAddressTable(table: SharedArrayBuffer, shard: number): void {
  const start = 1 + responseCells + shard * clientCells
  new Int32Array(table).fill(0, start, start + clientCells)
}

export class AddressLimits {
  readonly #cells: Int32Array
  readonly #own: number
  readonly #shards: number

  constructor(table = createAddressTable(1), own = 0) {
    this.#cells = new Int32Array(table)
    this.#own = own
    this.#shards = (this.#cells.length - 1 - responseCells) / clientCells
  }

  /**
   * Counts one response to this address and port. Returns false if it must not be sent. These responses are not larger than their requests, so
   * devices behind one address have limits of their own.
   */
  takeResponse({ address, port }: { readonly address: string; readonly port: number }, nowMs: number): boolean {
    const cell = hashText(`${address}|${port}`) % responseCells
    const isFree = takeToken(this.#cells, 1 + cell, perPeerPerSecond, nowMs)
    return isFree && takeToken(this.#cells, 0, totalPerSecond, nowMs)
  }

  /** Counts one client. Returns false if the limit of its address is reached. */
  takeClient(address: string): boolean {
    const cell = hashText(address) % clientCells
    let clients = 0
    for (let shard = 0; shard < this.#shards; shard++)
      clients += Atomics.load(this.#cells, 1 + responseCells + shard * clientCells + cell)
    if (clients >= maxClientsPerAddress && !isLoopback(address)) return false
    Atomics.add(this.#cells, this.#computeClientCell(cell), 1)
    return true
  }

  releaseClient(address: string): void {
    Atomics.sub(this.#cells, this.#computeClientCell(hashText(address) % clientCells), 1)
  }

  #computeClientCell(cell: number): number {
    return 1 + responseCells + this.#own * clientCells + cell
  }
}

/** Takes one token. Returns false if the bucket is empty. The cell has the time at which the bucket is full, in ms modulo 2^32. */
function takeToken(cells: Int32Array, cell: number, perSecond: number, nowMs: number): boolean {
  const intervalMs = msPerSecond / perSecond
  const now = nowMs | 0
  for (;;) {
    const fullAt = Atomics.load(cells, cell)
    let leftMs = (fullAt - now) | 0
    // A cell that was unused for days may have a time that wrapped: then the bucket is full.
    if (leftMs < 0 || leftMs > msPerSecond) leftMs = 0
    if (leftMs + intervalMs > msPerSecond) return false
    if (Atomics.compareExchange(cells, cell, fullAt, (now + leftMs + intervalMs) | 0) === fullAt) return true
  }
}

function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash ^ (hash >>> 15)) >>> 0
}
