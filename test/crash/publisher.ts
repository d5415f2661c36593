// A publisher that sends unacknowledged packets again after crashes, PUBLISH with DUP or PUBREL, in their order.

import type { AckPacket, Packet, PacketId } from '../../src/protocol/index.ts'
import { encodePublish } from '../simulator/wire.ts'
import { DurableClient, type ClientOptions } from './durable-client.ts'

const maxInFlight = 20
const retainedEvery = 7

/** Some messages are retained: the topic keeps the last of them. */
export function isRetained(number: number): boolean {
  return number % retainedEvery === 0
}

/** The number, sometimes with padding, so that records cross the blocks of a file. */
function payloadFor(number: number): string {
  return `${number} ${'.'.repeat(number % 11 === 0 ? (number * 37) % 6_000 : number % 90)}`
}

/** Publishes 1, 2, 3, ... to a topic of its own. */
export class Publisher extends DurableClient {
  readonly qos: 1 | 2
  readonly topic: string
  /** Numbers that the broker has acknowledged with PUBACK or PUBREC. */
  readonly acknowledged: number[]
  readonly #inFlight: Map<PacketId, { number: number; isReleased: boolean }>
  /** The highest published number. */
  last: number
  #lastPacketId: number
  #mayGoOn: boolean

  constructor(options: ClientOptions & { qos: 1 | 2 }) {
    super(options)
    this.qos = options.qos
    this.topic = `crash/${options.clientId}`
    this.acknowledged = []
    this.#inFlight = new Map()
    this.last = 0
    this.#lastPacketId = 0
    this.#mayGoOn = true
  }

  get isDone(): boolean {
    return this.#inFlight.size === 0
  }

  /** Describes why no progress is made. */
  get progress(): string {
    const released = [...this.#inFlight.values()].filter((sent) => sent.isReleased).length
    const connection = this.isConnected ? 'connected' : 'not connected'
    return `${this.clientId} is ${connection}, ${this.#inFlight.size} in flight, ${released} of them released`
  }

  /** Publishes nothing new; messages in flight are completed. */
  finish(): void {
    this.#mayGoOn = false
  }

  protected connected(): void {
    for (const [packetId, { number, isReleased }] of this.#inFlight) {
      if (isReleased) this.acknowledge('pubrel', packetId)
      else this.#publish(packetId, number, true)
    }
    this.#goOn()
  }

  protected packet(packet: Packet): void {
    switch (packet.type) {
      case 'puback':
        return this.#settle(packet)
      case 'pubrec':
        return this.#release(packet)
      case 'pubcomp':
        this.#inFlight.delete(packet.packetId)
        return this.#goOn()
      default:
        return this.unexpected(packet)
    }
  }

  #settle(ack: AckPacket): void {
    this.#accept(ack)
    this.#inFlight.delete(ack.packetId)
    this.#goOn()
  }

  #release(ack: AckPacket): void {
    const sent = this.#accept(ack)
    if (sent === undefined) return
    sent.isReleased = true
    this.acknowledge('pubrel', ack.packetId)
  }

  #accept(ack: AckPacket): { number: number; isReleased: boolean } | undefined {
    const sent = this.#inFlight.get(ack.packetId)
    if (ack.reasonCode >= 0x80) this.fault(`got ${ack.type} with reason ${ack.reasonCode}`)
    if (sent === undefined) this.fault(`got ${ack.type} for ${ack.packetId}, which is not in flight`)
    else if (!sent.isReleased) this.acknowledged.push(sent.number)
    return sent
  }

  #goOn(): void {
    while (this.#mayGoOn && this.#inFlight.size < maxInFlight) {
      do this.#lastPacketId = (this.#lastPacketId % 65_535) + 1
      while (this.#inFlight.has(this.#lastPacketId))
      const number = ++this.last
      this.#inFlight.set(this.#lastPacketId, { number, isReleased: false })
      this.#publish(this.#lastPacketId, number, false)
    }
  }

  #publish(packetId: PacketId, number: number, dup: boolean): void {
    const retain = isRetained(number)
    const frame = { topic: this.topic, payload: payloadFor(number), qos: this.qos, retain, dup, packetId }
    this.write(encodePublish(frame, this.version))
  }
}
