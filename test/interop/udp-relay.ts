// A UDP relay in front of a gateway. It can drop datagrams, and give each device another address, as a router does that was restarted.

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { Scope } from '../e2e/godwit-process.ts'

export class UdpRelay {
  readonly port: number
  readonly #socket: Socket
  /** By the port of the device. */
  readonly #upstream = new Map<number, Socket>()
  /** Of ten datagrams of each direction, this number is dropped. */
  dropsOfTen = 0
  /** All datagrams to devices are dropped. */
  isSilent = false
  #count = 0

  private constructor(socket: Socket, targetPort: number) {
    this.#socket = socket
    this.port = socket.address().port
    socket.on('message', (datagram, { port }) => {
      if (!this.#isDropped()) this.#upstreamOf(port).send(datagram, targetPort, '127.0.0.1')
    })
  }

  static async start(t: Scope, targetPort: number): Promise<UdpRelay> {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const relay = new UdpRelay(socket, targetPort)
    t.after(() => {
      relay.changeAddresses()
      socket.close()
    })
    return relay
  }

  /** The next datagram of each device comes from another port. */
  changeAddresses(): void {
    for (const socket of this.#upstream.values()) socket.close()
    this.#upstream.clear()
  }

  #isDropped(): boolean {
    this.#count = (this.#count + 7) % 10
    return this.#count < this.dropsOfTen
  }

  #upstreamOf(devicePort: number): Socket {
    const known = this.#upstream.get(devicePort)
    if (known !== undefined) return known
    const socket = createSocket('udp4')
    socket.on('message', (datagram) => {
      if (!this.isSilent && !this.#isDropped()) this.#socket.send(datagram, devicePort, '127.0.0.1')
    })
    this.#upstream.set(devicePort, socket)
    return socket
  }
}
