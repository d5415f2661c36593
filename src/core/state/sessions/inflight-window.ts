// The deliveries in flight to one client, found by packet id without a Map.
//
//   slots:  [ 16 ][ 17 ][    ][ 3 ][ 4 ] ...      slot = packet id & (slots.length - 1)
//
// Packet ids are ours to choose: an id whose slot is taken is passed over, so two ids never meet in a slot. Slots
// double while they are more than half full; two ids apart modulo n are apart modulo 2n, so nothing collides then.
//
// An id whose message was given up before the client had answered it is passed over as well: it is the client's to free.

import { assert, failedAssertion, type PacketId } from '../../../protocol/index.ts'

const firstSlots = 8
const allPacketIds = 65_536

export interface InFlight {
  packetId: PacketId
  sendOrder: number
  /** What it takes in memory. It changes in the window by `lighten` alone. */
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

  /** `largestId`: of what has no packet id yet. */
  constructor(largestId = 65_535) {
    this.#largestId = largestId
    this.#slots = Array.from({ length: firstSlots })
  }

  get count(): number {
    return this.#count
  }

  /** What its deliveries take in memory. */
  get bytes(): number {
    return this.#bytes
  }

  /** Gives the delivery a packet id that nothing in flight has. */
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

  /** Puts back what had its packet id before a restart. */
  addWithId(delivery: D, packetId: PacketId): void {
    if (this.get(packetId) !== undefined) throw failedAssertion(`packet id ${packetId} is in flight already`)
    while (this.#slots[packetId & (this.#slots.length - 1)] !== undefined) this.#grow()
    this.#put(delivery, packetId)
    this.#countOnFrom(packetId)
  }

  /** It is not sent any more, and the client may have it: no other message gets its packet id before the client answers. */
  abandon(delivery: D): void {
    this.remove(delivery)
    this.restoreAbandoned(delivery.packetId)
  }

  /** The same after a restart. The client that has left thousands unanswered keeps the last of them. */
  restoreAbandoned(packetId: PacketId): void {
    this.#abandoned ??= new Set()
    this.#abandoned.add(packetId)
    // Others stay free in whatever slots are.
    this.#keepAtMost(this.#abandoned, this.#largestId >> 2)
  }

  isAbandoned(packetId: PacketId): boolean {
    return this.#abandoned?.has(packetId) === true
  }

  /** The client has answered after all. True if it was there. */
  releaseAbandoned(packetId: PacketId): boolean {
    return this.#abandoned?.delete(packetId) === true
  }

  /** What has its packet id from before a restart is sent in its turn, and that may be behind others that had none. */
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

  /** Its message is let go of, and its place here is not. Before its `heldBytes` change. */
  lighten(delivery: D): void {
    if (this.get(delivery.packetId) === delivery) this.#bytes -= delivery.heldBytes
  }

  /** In no order. */
  forEach(visit: (delivery: D) => void): void {
    for (const delivery of this.#slots) if (delivery !== undefined) visit(delivery)
  }

  /** In the order in which they were first sent; what has not been sent stands where it was put back. */
  inSendOrder(): D[] {
    return this.#slots.filter((delivery) => delivery !== undefined).sort((a, b) => a.sendOrder - b.sendOrder)
  }

  /**
   * What is shortly ahead of the count is passed: freed, it would be another message's at once, and a second answer to
   * what was sent twice would be taken for that one's.
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
    if (old.length === allPacketIds) return // Every id has a slot of its own.
    const slots: (D | undefined)[] = Array.from({ length: old.length * 2 })
    for (const delivery of old) if (delivery !== undefined) slots[delivery.packetId & (slots.length - 1)] = delivery
    this.#slots = slots
  }
}
