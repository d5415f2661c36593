// A connection to another node over a byte stream: passes its bytes to the protocol, and writes what the protocol has to send.

import type { LinkConnection } from '../../cluster/index.ts'
import type { ByteStream } from '../../transports/index.ts'

/** Bytes of one write, about. The next one follows when the system has taken it. */
const maxWriteBytes = 262_144

export class NodeStream {
  readonly connection: LinkConnection
  readonly #stream: ByteStream
  #isWriting = false
  #isPlanned = false
  #hasClosed = false

  constructor(stream: ByteStream, connection: LinkConnection, monotonicMs: () => number) {
    this.connection = connection
    this.#stream = stream
    stream.onData = (chunk) => connection.handleBytes(chunk, monotonicMs())
    stream.onClose = (error) => {
      this.#hasClosed = true
      connection.handleClosed(error?.message ?? 'the other node closed the connection')
    }
  }

  /** Writes at the end of this turn of the event loop what all shards have sent until then. */
  planWrite(): void {
    if (this.#isPlanned || this.#isWriting || this.#hasClosed) return
    this.#isPlanned = true
    setImmediate(() => {
      this.#isPlanned = false
      this.#write()
    })
  }

  /** The connection has ended. A write that the other side does not take could take minutes to fail. */
  finish(): void {
    if (this.#isWriting) this.#stream.destroy()
    else this.planWrite()
  }

  #write(): void {
    if (this.#isWriting || this.#hasClosed) return
    const bytes = this.connection.takeOutput(maxWriteBytes)
    if (bytes === undefined) {
      if (this.connection.hasEnded) this.#stream.end()
      return
    }
    this.#isWriting = true
    this.#stream.write(bytes, () => {
      this.#isWriting = false
      this.#write()
    })
  }
}
