// A client of a conformance check. It waits for expected packets, and throws a `Violation` if another or no packet arrives.

import { packetTypes } from '../../../src/protocol/index.ts'
import { ProbeSocket, type ProbeTarget } from '../probe-socket.ts'
import {
  connectFrame,
  type ConnectFields,
  disconnectFrame,
  type Frame,
  FrameReader,
  pingreqFrame,
  type ProbeVersion,
  decodePublish,
  type ReceivedPublish,
  subscribeFrame,
} from '../wire.ts'

/** The broker did not behave as the statement of the standard requires; the message says what was received instead. */
export class Violation extends Error {}

export interface CheckedOptions {
  readonly target: ProbeTarget
  readonly version: ProbeVersion
  /** Maximum time for a response. */
  readonly responseTimeoutMs: number
}

const nameOfType = new Map<number, string>(
  Object.entries(packetTypes).map(([name, type]) => [type, name.toUpperCase()]),
)

export class CheckedClient {
  readonly version: ProbeVersion
  /** User name and password of each CONNECT. */
  readonly #login: Pick<ProbeTarget, 'username' | 'password'>
  readonly #socket: ProbeSocket
  readonly #responseTimeoutMs: number
  readonly #frames: Frame[] = []
  #isClosed = false
  #wake: () => void = () => {}

  private constructor(socket: ProbeSocket, { version, responseTimeoutMs, target }: CheckedOptions) {
    this.version = version
    this.#login = { username: target.username, password: target.password }
    this.#socket = socket
    this.#responseTimeoutMs = responseTimeoutMs
    const reader = new FrameReader()
    socket.onData = (chunk) => {
      const frames = reader.read(chunk)
      if (frames === undefined) return socket.destroy()
      this.#frames.push(...frames)
      this.#wake()
    }
    socket.onClose = () => {
      this.#isClosed = true
      this.#wake()
    }
  }

  static async open(options: CheckedOptions): Promise<CheckedClient> {
    return new CheckedClient(await ProbeSocket.open(options.target), options)
  }

  send(...packets: readonly Uint8Array[]): void {
    this.#socket.write(Buffer.concat(packets))
  }

  /** Sends CONNECT and returns the body of CONNACK. */
  async connect(fields: Omit<ConnectFields, 'version'>): Promise<Buffer> {
    this.send(connectFrame({ version: this.version, ...this.#login, ...fields }))
    return (await this.expect(packetTypes.connack)).body
  }

  async subscribe(filter: string, options = 0): Promise<Buffer> {
    this.send(subscribeFrame(this.version, [[filter, options]]))
    return (await this.expect(packetTypes.suback)).body
  }

  /** Returns the next packet, which must have this type. */
  async expect(type: number): Promise<Frame> {
    const frame = await this.next()
    const wanted = nameOfType.get(type) ?? String(type)
    if (frame === undefined)
      throw new Violation(`no ${wanted}: ${this.#isClosed ? 'the connection was closed' : 'no packet arrived'}`)
    if (frame.type !== type) throw new Violation(`${nameOfType.get(frame.type) ?? frame.type} instead of ${wanted}`)
    return frame
  }

  async expectMessage(): Promise<ReceivedPublish> {
    const message = decodePublish(this.version, await this.expect(packetTypes.publish))
    if (message === undefined) throw new Violation('the PUBLISH is malformed')
    return message
  }

  /** Waits for the end of the connection. A DISCONNECT or a refusing CONNACK may arrive before. */
  async expectClose(): Promise<void> {
    for (;;) {
      const frame = await this.next()
      if (frame === undefined) break
      const isRefusal = frame.type === packetTypes.connack && (frame.body[1] ?? 0) !== 0
      if (frame.type !== packetTypes.disconnect && !isRefusal)
        throw new Violation(`${nameOfType.get(frame.type) ?? frame.type} instead of the end of the connection`)
    }
    if (!this.#isClosed) throw new Violation('the connection stays open')
  }

  /** Sends PINGREQ and throws unless the next packet is PINGRESP: then the broker has sent nothing else before. */
  async expectNothing(): Promise<void> {
    this.send(pingreqFrame)
    await this.expect(packetTypes.pingresp)
  }

  disconnect(): void {
    this.#socket.write(disconnectFrame())
    this.#socket.end()
  }

  /** Closes the connection without DISCONNECT. */
  destroy(): void {
    this.#socket.destroy()
  }

  /** Returns the next packet; undefined: none arrived in time, or the connection ended. */
  async next(): Promise<Frame | undefined> {
    const deadline = performance.now() + this.#responseTimeoutMs
    while (this.#frames.length === 0 && !this.#isClosed) {
      const leftMs = deadline - performance.now()
      if (leftMs <= 0) return undefined
      await this.#waitForFrameOrClose(leftMs)
    }
    return this.#frames.shift()
  }

  #waitForFrameOrClose(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
