// A TCP connection of a gateway: writes are queued, and one is in progress at a time.

import type { GatewayStream, GatewayStreamCallbacks } from '../../gateways/index.ts'
import type { ByteStream } from '../../transports/index.ts'

/** Connects a gateway client to its stream. `guarded` handles internal errors of the callbacks. */
export function connectGatewayStream(
  stream: ByteStream,
  accept: (stream: GatewayStream) => GatewayStreamCallbacks,
  guarded: (work: () => void) => void,
): void {
  const gathered = new GatheredStream(stream)
  const client = accept(gathered)
  gathered.onWritten = () => guarded(() => client.handleWritten())
  stream.onData = (chunk) => guarded(() => client.handleBytes(chunk))
  stream.peerEndReceiver = { handlePeerEnd: () => guarded(() => client.handleInputEnded()) }
  stream.onClose = () => {
    gathered.isClosed = true
    guarded(() => client.handleClosed())
  }
}

class GatheredStream implements GatewayStream {
  isClosed = false
  onWritten: () => void = () => {}
  readonly peer: GatewayStream['peer']
  readonly #stream: ByteStream
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #writingBytes = 0
  #isEnding = false

  constructor(stream: ByteStream) {
    this.#stream = stream
    this.peer = { address: stream.remoteAddress, port: stream.remotePort }
  }

  get unsentBytes(): number {
    return this.#waitingBytes + this.#writingBytes
  }

  write(bytes: Buffer): void {
    if (this.isClosed || this.#isEnding) return
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (this.#writingBytes === 0) this.#flush()
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  end(): void {
    this.#isEnding = true
    if (this.#writingBytes === 0 && !this.isClosed) this.#stream.end()
  }

  #flush(): void {
    const bytes = this.#waiting.length === 1 && this.#waiting[0] ? this.#waiting[0] : Buffer.concat(this.#waiting)
    this.#waiting = []
    this.#waitingBytes = 0
    this.#writingBytes = bytes.length
    this.#stream.write(bytes, () => this.#handleWritten())
  }

  #handleWritten(): void {
    this.#writingBytes = 0
    if (this.isClosed) return
    if (this.#waiting.length > 0) this.#flush()
    else if (this.#isEnding) return this.#stream.end()
    this.onWritten()
  }
}
