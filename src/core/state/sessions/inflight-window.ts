// The deliveries in flight to one client, found by packet identifier without a Map.
//
//   slots:  [ 16 ][ 17 ][    ][ 3 ][ 4 ] ...      slot = packet identifier & (slots.length - 1)
//
// The broker chooses packet identifiers and skips those whose slot is occupied, so two never share a slot. The number of slots
// doubles when more than half are occupied. Identifiers that differ modulo n also differ modulo 2n, so none collide then.
//
// The identifier of an abandoned message is skipped as well, until the client acknowledges the message.

import { assert, createAssertionError, type PacketId } from '../../../protocol/index.ts'

const firstSlots = 8
const allPacketIds = 65_536

export interface InFlight {
  packetId: PacketId
  sendOrder: number
  /** Memory of the delivery, in bytes. While it is in the window, call `releaseMemory` before a change. */
  heldBytes: number
}

export class InflightWindow<D extends InFlight> {
  #slots: (D | undefined)[]
  #count = 0
  #bytes = 0
  #lastId = 0
  #sendOrder = 0
  #abandoned: Set<PacketId> | undefined
  readonly #largestId: number

  /** `largestId`: maximum for new packet identifiers. */
  constructor(largestId = 65_535) {
    this.#largestId = largestId
    this.#slots = Array.from({ length: firstSlots })
  }

  get count(): number {
    return this.#count
  }

  /** Memory of all deliveries in the window. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds a delivery, and returns a packet identifier that no delivery in flight and no abandoned message has. */
  add(delivery: D): PacketId {
    assert(this.#count < this.#largestId, 'every packet identifier is in flight')
    if (this.#count * 2 >= this.#slots.length) this.#grow()
    if (this.#abandoned !== undefined) this.#dropOldest(this.#abandoned, this.#largestId - this.#count - 1)
    const mask = this.#slots.length - 1
    let packetId = this.#lastId
    do {
      packetId = packetId >= this.#largestId ? 1 : packetId + 1
    } while (this.#slots[packetId & mask] !== undefined || this.#abandoned?.has(packetId) === true)
    this.#lastId = packetId
    this.#put(delivery, packetId)
    return packetId
  }

  /** Adds a delivery that had its packet identifier before a restart. */
  addWithId(delivery: D, packetId: PacketId): void {
    if (this.get(packetId) !== undefined)
      throw createAssertionError(`packet identifier ${packetId} is in flight already`)
    while (this.#slots[packetId & (this.#slots.length - 1)] !== undefined) this.#grow()
    this.#put(delivery, packetId)
    this.#continueAfter(packetId)
  }

  /**
   * The message is not sent again, but the client may have received it: its packet identifier is not used until the
   * client acknowledges it.
   */
  abandon(delivery: D): void {
    this.remove(delivery)
    this.restoreAbandoned(delivery.packetId)
  }

  /**
   * Adds an abandoned packet identifier, also one that was stored before a restart. At most a quarter of all identifiers are
   * skipped: beyond that, the oldest are used again.
   */
  restoreAbandoned(packetId: PacketId): void {
    this.#abandoned ??= new Set()
    this.#abandoned.add(packetId)
    this.#dropOldest(this.#abandoned, this.#largestId >> 2)
  }

  isAbandoned(packetId: PacketId): boolean {
    return this.#abandoned?.has(packetId) === true
  }

  /** The client acknowledged the packet identifier. Returns true if it was abandoned. */
  releaseAbandoned(packetId: PacketId): boolean {
    return this.#abandoned?.delete(packetId) === true
  }

  /** Gives the delivery the next place in the send order: a delivery from before a restart is sent after newer ones. */
  recordSent(delivery: D): void {
    delivery.sendOrder = ++this.#sendOrder
  }

  get(packetId: PacketId): D | undefined {
    const delivery = this.#slots[packetId & (this.#slots.length - 1)]
    return delivery !== undefined && delivery.packetId === packetId ? delivery : undefined
  }

  remove(delivery: D): void {
    const slot = delivery.packetId & (this.#slots.length - 1)
    if (this.#slots[slot] !== delivery)
      throw createAssertionError(`packet identifier ${delivery.packetId} was never in flight`)
    this.#slots[slot] = undefined
    this.#count--
    this.#bytes -= delivery.heldBytes
  }

  /** Stops counting the memory of a delivery whose message is removed from memory. It keeps its slot. Call before `heldBytes` changes. */
  releaseMemory(delivery: D): void {
    if (this.get(delivery.packetId) === delivery) this.#bytes -= delivery.heldBytes
  }

  /** Calls `visit` for each delivery, in no particular order. */
  forEach(visit: (delivery: D) => void): void {
    for (const delivery of this.#slots) if (delivery !== undefined) visit(delivery)
  }

  /** Returns the deliveries in the order in which they were sent, or were added if they have not been sent. */
  listInSendOrder(): D[] {
    return this.#slots.filter((delivery) => delivery !== undefined).sort((a, b) => a.sendOrder - b.sendOrder)
  }

  /**
   * Continues the counter after `packetId`, if that is ahead of it by less than half of all identifiers. Otherwise a restored
   * identifier would be assigned again as soon as it is free, and a second acknowledgement of the repeated packet would be taken
   * for that of the new message.
   */
  #continueAfter(packetId: PacketId): void {
    const ahead = (packetId - this.#lastId + this.#largestId) % this.#largestId
    if (ahead * 2 < this.#largestId) this.#lastId = packetId
  }

  #dropOldest(abandoned: Set<PacketId>, max: number): void {
    for (const oldest of abandoned) {
      if (abandoned.size <= max) return
      abandoned.delete(oldest)
    }
  }

  #put(delivery: D, packetId: PacketId): void {
    delivery.packetId = packetId
    delivery.sendOrder = ++this.#sendOrder
    this.#slots[packetId & (this.#slots.length - 1)] = delivery
    this.#count++
    this.#bytes += delivery.heldBytes
  }

  #grow(): void {
    const old = this.#slots
    if (old.length === allPacketIds) return // Every identifier has a slot of its own.
    const slots: (D | undefined)[] = Array.from({ length: old.length * 2 })
    for (const delivery of old) if (delivery !== undefined) slots[delivery.packetId & (slots.length - 1)] = delivery
    this.#slots = slots
  }
}
