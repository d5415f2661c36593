// A device that speaks CoAP as RFC 7252 requires: confirmable requests one at a time, repeated with the same message ID until
// they get a response. It acknowledges received requests and notifications, and executes each once.

import { CoapDevice, type CoapMessage, type CoapContent } from '../../gateways/coap-device.ts'
import type { PlannedEvent, Stage } from '../stage.ts'
import type { LossyNetwork } from './lossy-network.ts'

const retryMs = 2_500
/** Total number of transmissions of a confirmable message [RFC 7252 4.8]. */
const maxAttempts = 5

interface Request {
  readonly write: (device: CoapDevice) => void
  /** Undefined: there was no response. */
  readonly done: (response: CoapMessage | undefined) => void
}

interface Current extends Request {
  readonly bytes: Buffer
  readonly messageId: number
  attempts: number
  timer: PlannedEvent | undefined
}

export class SimulatedCoapDevice {
  readonly #stage: Stage
  readonly #network: LossyNetwork
  readonly #port: number
  readonly #codec: CoapDevice
  #written: Buffer = Buffer.alloc(0)
  #arrived: Buffer[] = []
  readonly #queue: Request[] = []
  #current: Current | undefined
  /** Responses by message ID, which are sent again for repeated requests. */
  readonly #sentResponses = new Map<number, Buffer>()
  isRadioOn = true
  /** Called once for each request of the gateway. */
  onRequest: (request: CoapMessage) => { readonly code: string; readonly content: CoapContent } = () => ({
    code: '4.04',
    content: {},
  })
  /** Called once for each confirmable notification. */
  onNotification: (notification: CoapMessage) => void = () => {}

  constructor(stage: Stage, network: LossyNetwork, port: number) {
    this.#stage = stage
    this.#network = network
    this.#port = port
    this.#codec = new CoapDevice(
      (bytes) => (this.#written = bytes),
      () => this.#arrived.splice(0),
    )
    network.attach(port, (bytes) => this.#receive(bytes))
  }

  get isIdle(): boolean {
    return this.#current === undefined && this.#queue.length === 0
  }

  exchange(write: (device: CoapDevice) => void, done: (response: CoapMessage | undefined) => void): void {
    this.#queue.push({ write, done })
    this.#next()
  }

  #next(): void {
    if (this.#current !== undefined) return
    const next = this.#queue.shift()
    if (next === undefined) return
    next.write(this.#codec)
    const bytes = this.#written
    this.#current = { ...next, bytes, messageId: bytes.readUInt16BE(2), attempts: 0, timer: undefined }
    this.#send(this.#current)
  }

  #send(current: Current): void {
    if (current.attempts >= maxAttempts) return this.#settle(current, undefined)
    this.#network.sendToGateway(current.bytes, this.#port)
    current.timer = this.#stage.after(retryMs * 2 ** current.attempts, () => this.#send(current))
    current.attempts++
  }

  #settle(current: Current, response: CoapMessage | undefined): void {
    this.#stage.cancel(current.timer)
    this.#current = undefined
    current.done(response)
    this.#next()
  }

  #receive(datagram: Buffer): void {
    if (!this.isRadioOn) return
    this.#arrived.push(datagram)
    const received = this.#codec.takeLast()
    if (received === undefined || received.type === 'rst') return
    if (received.type === 'ack') {
      const current = this.#current
      if (current?.messageId === received.messageId && received.code !== '0.00') this.#settle(current, received)
      return
    }
    const before = this.#sentResponses.get(received.messageId)
    if (before !== undefined) return this.#network.sendToGateway(before, this.#port)
    if (received.code.startsWith('0.')) {
      const { code, content } = this.onRequest(received)
      this.#stage.record('dev', () => `request ${received.path} ${received.messageId}`)
      this.#codec.respond(received, code, content)
    } else {
      this.#codec.acknowledge(received)
      this.#takeResponse(received)
    }
    this.#sentResponses.set(received.messageId, this.#written)
    this.#network.sendToGateway(this.#written, this.#port)
  }

  /** Handles a separate response to the request, or a notification. */
  #takeResponse(received: CoapMessage): void {
    const current = this.#current
    const token = current?.bytes.toString('hex', 4, 4 + ((current.bytes[0] ?? 0) & 15))
    if (current !== undefined && received.token === token && received.observe === undefined)
      return this.#settle(current, received)
    this.onNotification(received)
  }
}
