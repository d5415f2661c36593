// Messages that wait to be sent to one MQTT-SN client, oldest first. The number of those with QoS 0 is limited. Of QoS 1 and 2, the broker sends at
// most the Receive Maximum of the connection; the others wait in the session.

import type { PacketId, QoS } from '../../../protocol/index.ts'
import type { GatewayCounters } from '../../gateway.ts'
import type { StoredMessage, StoredMessages } from '../model/stored-messages.ts'

/** Maximum QoS 0 messages for a client that sleeps or registers; the oldest is dropped first. */
export const maxWaitingQos0 = 1_000
const maxWaitingBytes = 1_048_576

export interface Delivery {
  readonly topic: string
  readonly qos: QoS
  readonly retain: boolean
  readonly packetId: PacketId
  readonly payload: Buffer
  dup: boolean
}

interface DeliverySender {
  /** Returns false if the message must wait. */
  trySend(delivery: Delivery): boolean
}

interface WaitingClient {
  /** Undefined: waiting messages end with the connection. */
  readonly storedMessages: StoredMessages | undefined
}

export class WaitingDeliveries {
  readonly #client: WaitingClient
  readonly #counters: GatewayCounters
  #waiting: Delivery[] = []
  #bytes = 0
  #qos0 = 0

  constructor(client: WaitingClient, counters: GatewayCounters) {
    this.#client = client
    this.#counters = counters
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** If there is no space for a message with QoS 0, the oldest one is dropped. */
  push(delivery: Delivery): void {
    const { qos, payload } = delivery
    if (qos === 0 && !this.#hasSpace(payload.length)) this.#dropOldestQos0()
    this.#waiting.push(delivery)
    this.#bytes += payload.length
    if (qos === 0) this.#qos0++
  }

  /** Restores QoS 0 messages that waited before the restart, oldest first, by their numbers. */
  restore(messages: ReadonlyMap<number, StoredMessage>): void {
    for (const [number, { topic, retain, payload: text }] of messages) {
      const payload = Buffer.from(text, 'base64')
      const delivery: Delivery = { topic, qos: 0, retain, packetId: 0, payload, dup: false }
      this.#client.storedMessages?.addRestored(number, delivery)
      this.#waiting.push(delivery)
      this.#bytes += payload.length
      this.#qos0++
    }
  }

  /** Puts a message with QoS 1 or 2, which will be sent again, before the others. */
  putBack(delivery: Delivery): void {
    delivery.dup = true
    this.#waiting.unshift(delivery)
    this.#bytes += delivery.payload.length
  }

  /** Stores the messages with QoS 0, because the client sleeps. */
  store(): void {
    for (const delivery of this.#waiting) if (delivery.qos === 0) this.#client.storedMessages?.add(delivery)
  }

  /** Sends the messages that can be sent. Messages of one topic stay in order; other topics continue. */
  send(sender: DeliverySender): void {
    const blocked = new Set<string>()
    const left: Delivery[] = []
    for (const delivery of this.#waiting) {
      if (blocked.has(delivery.topic) || !sender.trySend(delivery)) {
        blocked.add(delivery.topic)
        left.push(delivery)
      } else this.#uncountDelivery(delivery)
    }
    this.#waiting = left
  }

  /** Removes and returns the messages of a topic. */
  removeTopic(topic: string): readonly Delivery[] {
    const removed = this.#waiting.filter((delivery) => delivery.topic === topic)
    this.#waiting = this.#waiting.filter((delivery) => delivery.topic !== topic)
    for (const delivery of removed) this.#uncountDelivery(delivery)
    return removed
  }

  #hasSpace(bytes: number): boolean {
    return this.#qos0 < maxWaitingQos0 && this.#bytes + bytes <= maxWaitingBytes
  }

  #dropOldestQos0(): void {
    const oldest = this.#waiting.findIndex(({ qos }) => qos === 0)
    if (oldest === -1) return
    const [dropped] = this.#waiting.splice(oldest, 1)
    if (dropped !== undefined) this.#uncountDelivery(dropped)
    this.#counters.dropped['queue-full']++
  }

  #uncountDelivery(delivery: Delivery): void {
    this.#bytes -= delivery.payload.length
    if (delivery.qos === 0) {
      this.#qos0--
      this.#client.storedMessages?.delete(delivery)
    }
  }
}
