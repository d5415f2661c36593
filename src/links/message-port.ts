// One end of a link over a port of a `MessageChannel`. A link buffer is transferred and not copied: the receiver reads the
// memory that the sender wrote. The port closes by itself when the thread at the other end stops.

import type { MessagePort } from 'node:worker_threads'
import type { ForwardingPort } from './link-port.ts'

const ignore = (): void => {}

class MessagePortEnd implements ForwardingPort {
  onClose: () => void = ignore
  onFullChange: (isFull: boolean) => void = ignore
  readonly #port: MessagePort
  #onBuffer: ((buffer: ArrayBuffer) => void) | undefined = undefined
  #isClosed = false

  constructor(port: MessagePort) {
    this.#port = port
    port.on('close', () => this.#handleClosed())
  }

  get onBuffer(): (buffer: ArrayBuffer) => void {
    return this.#onBuffer ?? ignore
  }

  /**
   * The first listener starts the port. A shard that restarted may get this end while it still closes the link before it; what the other
   * shard has sent meanwhile waits in the port.
   */
  set onBuffer(onBuffer: (buffer: ArrayBuffer) => void) {
    const isFirst = this.#onBuffer === undefined
    this.#onBuffer = onBuffer
    if (isFirst) this.#port.on('message', (message: ArrayBuffer | boolean) => this.#receive(message))
  }

  send(buffer: ArrayBuffer): void {
    this.#port.postMessage(buffer, [buffer])
  }

  sendFull(isFull: boolean): void {
    this.#port.postMessage(isFull)
  }

  /**
   * A port emits `close` once, possibly before a listener exists: the thread of the other end may fail while this one still
   * loads its code. Waiting for the event would then never end.
   */
  close(): void {
    this.#port.close()
    setImmediate(() => this.#handleClosed())
  }

  #receive(message: ArrayBuffer | boolean): void {
    if (typeof message === 'boolean') this.onFullChange(message)
    else this.#onBuffer?.(message)
  }

  #handleClosed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#onBuffer = ignore
    this.onFullChange = ignore
    this.onClose()
  }
}

/** Returns the end of a link over `port`. It calls `onBuffer` from the turn of the event loop after the one in which it was set. */
export function createLinkPort(port: MessagePort): ForwardingPort {
  return new MessagePortEnd(port)
}
