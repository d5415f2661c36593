// The deliveries in flight to one client, found by packet identifier without a Map.
//
//   slots:  [ 16 ][ 17 ][    ][ 3 ][ 4 ] ...      slot = packet identifier & (slots.length - 1)
//
// The broker chooses packet identifiers and skips those whose slot is occupied, so two never share a slot. The number of slots
// doubles when more than half are occupied. Identifiers that differ modulo n also differ modulo 2n, so none collide then.
//
// The identifier of a message that was abandoned before the client acknowledged it is skipped as well, until the client does.

import { assert, failedAssertion, type PacketId } from '../../../protocol/index.ts'

const firstSlots = 8
const allPacketIds = 65_536

export interface InFlight {
  packetId: PacketId
  sendOrder: number
  /** Its memory. Within the window it changes only through `lighten`. */
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

  /** Memory of its deliveries. */
  get bytes(): number {
    return this.#bytes
  }

  /** Assigns a packet identifier that no delivery in flight has. */
  add(delivery: D): PacketId {
    assert(this.#count < this.#largestId, 'every packet id is in flight')
    if (this.#count * 2 >= this.#slots.length) this.#grow()
    if (this.#abandoned !== undefined) this.#keepAtMost(this.#abandoned, this.#largestId - this.#count - 1)
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
    if (this.get(packetId) !== undefined) throw failedAssertion(`packet id ${packetId} is in flight already`)
    while (this.#slots[packetId & (this.#slots.length - 1)] !== undefined) this.#grow()
    this.#put(delivery, packetId)
    this.#countOnFrom(packetId)
  }

  /**
   * The message is not sent again, but the client may have received it: its packet identifier is not used until the
   * client acknowledges it.
   */
  abandon(delivery: D): void {
    this.remove(delivery)
    this.restoreAbandoned(delivery.packetId)
  }

  /** Does the same after a restart. If a client left thousands unacknowledged, only the last of them are kept. */
  restoreAbandoned(packetId: PacketId): void {
    this.#abandoned ??= new Set()
    this.#abandoned.add(packetId)
    // The other identifiers remain available in any slots.
    this.#keepAtMost(this.#abandoned, this.#largestId >> 2)
  }

  isAbandoned(packetId: PacketId): boolean {
    return this.#abandoned?.has(packetId) === true
  }

  /** The client acknowledged it. Returns true if it was abandoned. */
  releaseAbandoned(packetId: PacketId): boolean {
    return this.#abandoned?.delete(packetId) === true
  }

  /** A delivery with a packet identifier from before a restart is sent in its order, which may be after new ones. */
  noteSent(delivery: D): void {
    delivery.sendOrder = ++this.#sendOrder
  }

  get(packetId: PacketId): D | undefined {
    const delivery = this.#slots[packetId & (this.#slots.length - 1)]
    return delivery !== undefined && delivery.packetId === packetId ? delivery : undefined
  }

  remove(delivery: D): void {
    const slot = delivery.packetId & (this.#slots.length - 1)
    if (this.#slots[slot] !== delivery) throw failedAssertion(`packet id ${delivery.packetId} was never in flight`)
    this.#slots[slot] = undefined
    this.#count--
    this.#bytes -= delivery.heldBytes
  }

  /** Its message is removed, its slot stays. Called before its `heldBytes` change. */
  lighten(delivery: D): void {
    if (this.get(delivery.packetId) === delivery) this.#bytes -= delivery.heldBytes
  }

  /** In no order. */
  forEach(visit: (delivery: D) => void): void {
    for (const delivery of this.#slots) if (delivery !== undefined) visit(delivery)
  }

  /** In the order of their first transmission; those not sent yet are at the place where they were restored. */
  inSendOrder(): D[] {
    return this.#slots.filter((delivery) => delivery !== undefined).sort((a, b) => a.sendOrder - b.sendOrder)
  }

  /**
   * Skips identifiers just above the counter: when freed, they would be used at once, and a second acknowledgement of a
   * repeated packet would be taken for the new message's.
   */
  #countOnFrom(packetId: PacketId): void {
    const ahead = (packetId - this.#lastId + this.#largestId) % this.#largestId
    if (ahead * 2 < this.#largestId) this.#lastId = packetId
  }

  #keepAtMost(abandoned: Set<PacketId>, most: number): void {
    for (const oldest of abandoned) {
      if (abandoned.size <= most) return
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
