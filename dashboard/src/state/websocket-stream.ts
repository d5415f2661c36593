// A WebSocket of the browser as the byte stream of an MQTT client.

import type { ClientStream } from '../../../src/mqtt-client/index.ts'

export class WebSocketStream implements ClientStream {
  onData: (chunk: Buffer) => void = () => {}
  onClose: () => void = () => {}
  readonly #socket: WebSocket

  constructor(url: string) {
    this.#socket = new WebSocket(url, 'mqtt')
    this.#socket.binaryType = 'arraybuffer'
    this.#socket.addEventListener('message', ({ data }) =>
      this.onData(Buffer.from(new Uint8Array(data as ArrayBuffer))),
    )
    this.#socket.addEventListener('close', () => this.onClose())
  }

  /** The first write waits until the WebSocket is open. */
  write(bytes: Buffer<ArrayBuffer>, done: () => void): void {
    const send = (): void => {
      this.#socket.send(bytes)
      queueMicrotask(done)
    }
    if (this.#socket.readyState === WebSocket.CONNECTING) this.#socket.addEventListener('open', send)
    else send()
  }

  /** A browser cannot pause a WebSocket, and the client of the page does not pause. */
  pause(): void {}

  resume(): void {}

  end(): void {
    this.#socket.close()
  }

  destroy(): void {
    this.#socket.close()
  }
}
