// Datagrams between devices and a gateway. The generator of the world decides which are lost, repeated, delayed and reordered.

import type { PeerAddress } from '../../../src/transports/index.ts'
import type { Stage } from '../stage.ts'

export interface DatagramTraits {
  /** Probability for each datagram, 0 to 1. */
  readonly loss: number
  readonly repetition: number
  /** Maximum delay of each datagram: later ones overtake it. */
  readonly maxDelayMs: number
  /** Of two copies of a CoAP message at least one arrives, so that a repeated message arrives in the end. */
  readonly losesNoTwo?: boolean
}

const coapHeaderBytes = 4

export const reliable: DatagramTraits = { loss: 0, repetition: 0, maxDelayMs: 1 }

export class LossyNetwork {
  readonly #stage: Stage
  readonly #devices = new Map<number, (bytes: Buffer) => void>()
  traits: DatagramTraits
  onGateway: (bytes: Buffer, peer: PeerAddress) => void = () => {}
  /** Messages whose last copy was lost, by receiver, type, code and message ID of CoAP. */
  readonly #unlucky = new Set<string>()
  lost = 0
  repeated = 0

  constructor(stage: Stage, traits: DatagramTraits) {
    this.#stage = stage
    this.traits = traits
  }

  /** Adds a device at a port, and replaces an earlier one. */
  attach(port: number, receive: (bytes: Buffer) => void): void {
    this.#devices.set(port, receive)
  }

  detach(port: number): void {
    this.#devices.delete(port)
  }

  sendToGateway(bytes: Buffer, port: number): void {
    this.#carry(bytes, `gateway ${port}`, (copy) => this.onGateway(copy, { address: '192.0.2.1', port }))
  }

  sendToDevice(bytes: Buffer, { port }: PeerAddress): void {
    this.#carry(bytes, `device ${port}`, (copy) => this.#devices.get(port)?.(copy))
  }

  #carry(bytes: Buffer, way: string, arrive: (copy: Buffer) => void): void {
    const { random } = this.#stage
    const { loss, repetition, maxDelayMs, losesNoTwo = false } = this.traits
    const message = `${way} ${bytes.toString('hex', 0, coapHeaderBytes)}`
    const wasUnlucky = losesNoTwo && this.#unlucky.delete(message)
    if (random.chance(loss) && !wasUnlucky) {
      if (losesNoTwo) this.#unlucky.add(message)
      this.lost++
      return
    }
    const copies = random.chance(repetition) ? 2 : 1
    this.repeated += copies - 1
    for (let copy = 0; copy < copies; copy++) {
      const own = Buffer.from(bytes)
      this.#stage.after(random.between(0, maxDelayMs), () => arrive(own))
    }
  }
}
