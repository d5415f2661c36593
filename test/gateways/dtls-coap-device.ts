// A device that speaks CoAP over DTLS with a pre-shared key, over a real UDP socket.

import { randomUUID } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { Scope } from '../e2e/godwit-process.ts'
import { DtlsClient } from '../dtls/dtls-client.ts'
import { CoapDevice, type CoapMessage } from './coap-device.ts'

const pskWithGcm = 0x00a8

export class DtlsCoapDevice {
  readonly device: CoapDevice
  readonly #socket: Socket
  readonly #client: DtlsClient
  readonly #port: number
  #wake: () => void = () => {}

  private constructor(socket: Socket, client: DtlsClient, port: number) {
    this.#socket = socket
    this.#client = client
    this.#port = port
    this.device = new CoapDevice(
      (bytes) => {
        client.send(bytes)
        this.#flush()
      },
      () => client.receivedBytes.splice(0, 1),
    )
    socket.on('message', (bytes) => {
      client.receive(bytes)
      this.#flush()
      this.#wake()
    })
  }

  /** Completes the handshake. */
  static async at(t: Scope, port: number, identity: string, key: Buffer): Promise<DtlsCoapDevice> {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    t.after(() => socket.close())
    const client = new DtlsClient({ identity, key, suite: pskWithGcm, random: randomUUID() })
    const device = new DtlsCoapDevice(socket, client, port)
    client.start()
    device.#flush()
    while (!client.isOpen) await device.#arrival()
    return device
  }

  async next(): Promise<CoapMessage> {
    for (;;) {
      const received = this.device.takeLast()
      if (received !== undefined) return received
      await this.#arrival()
    }
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve))
  }

  #flush(): void {
    for (const datagram of this.#client.outbox.splice(0)) this.#socket.send(datagram, this.#port, '127.0.0.1')
  }
}
