// A device that speaks CoAP over a real UDP socket.

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { Scope } from '../e2e/godwit-process.ts'
import { CoapDevice, type CoapMessage } from './coap-device.ts'

export class UdpCoapDevice {
  readonly device: CoapDevice
  readonly #arrived: Buffer[] = []
  #wake: () => void = () => {}

  private constructor(socket: Socket, port: number) {
    this.device = new CoapDevice(
      (bytes) => socket.send(bytes, port, '127.0.0.1'),
      () => this.#arrived.splice(0, 1),
    )
    socket.on('message', (bytes) => {
      this.#arrived.push(bytes)
      this.#wake()
    })
  }

  static async at(t: Scope, port: number, address = '127.0.0.1'): Promise<UdpCoapDevice> {
    const socket = createSocket('udp4')
    socket.bind(0, address)
    await once(socket, 'listening')
    t.after(() => socket.close())
    return new UdpCoapDevice(socket, port)
  }

  async next(): Promise<CoapMessage> {
    for (;;) {
      const received = this.device.takeLast()
      if (received !== undefined) return received
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}
