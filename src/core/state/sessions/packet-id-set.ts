// Packet identifiers in use by a client, with the time of their arrival: a Map without objects.
//
//   ids:     [  0 ][ 17 ][  0 ][ 3 ] ...      slot = packet identifier & (ids.length - 1); 0: free (never an identifier)
//   sinceMs: [    ][ .. ][    ][ . ]
//
// Clients count identifiers up, so few slots are enough; two in one slot double the number of slots. In the worst case each of
// the 65,535 has its own.

import type { PacketId } from '../../../protocol/index.ts'

const firstSlots = 16

export class PacketIdSet {
  #ids = new Uint16Array(firstSlots)
  #sinceMs = new Float64Array(firstSlots)
  #size = 0

  get size(): number {
    return this.#size
  }

  has(packetId: PacketId): boolean {
    return this.#ids[packetId & (this.#ids.length - 1)] === packetId
  }

  add(packetId: PacketId, sinceMs: number): void {
    let slot = packetId & (this.#ids.length - 1)
    while (this.#ids[slot] !== 0 && this.#ids[slot] !== packetId) {
      this.#grow()
      slot = packetId & (this.#ids.length - 1)
    }
    if (this.#ids[slot] === 0) this.#size++
    this.#ids[slot] = packetId
    this.#sinceMs[slot] = sinceMs
  }

  /** Returns true if it existed. */
  delete(packetId: PacketId): boolean {
    const slot = packetId & (this.#ids.length - 1)
    if (this.#ids[slot] !== packetId) return false
    this.#ids[slot] = 0
    this.#size--
    return true
  }

  *entries(): IterableIterator<readonly [packetId: PacketId, sinceMs: number]> {
    for (let slot = 0; slot < this.#ids.length; slot++) {
      if (this.#ids[slot] !== 0) yield [this.#ids[slot], this.#sinceMs[slot]]
    }
  }

  #grow(): void {
    const ids = this.#ids
    const sinceMs = this.#sinceMs
    this.#ids = new Uint16Array(ids.length * 2)
    this.#sinceMs = new Float64Array(ids.length * 2)
    const mask = this.#ids.length - 1
    // Entries in different slots stay in different slots when the number is doubled.
    for (let slot = 0; slot < ids.length; slot++) {
      if (ids[slot] === 0) continue
      this.#ids[ids[slot] & mask] = ids[slot]
      this.#sinceMs[ids[slot] & mask] = sinceMs[slot]
    }
  }
}
