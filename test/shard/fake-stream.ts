// A connection without a network: written bytes are recorded, received bytes are passed in, and the test decides when a write
// completes.

import assert from 'node:assert/strict'
import type { ByteStream } from '../../src/transports/index.ts'

const ignore = (): void => {}

interface Write {
  readonly buffer: Buffer
  /** A copy of the bytes: they must not change until `done`. */
  readonly original: Buffer
  readonly done: () => void
}

export class FakeStream implements ByteStream {
  readonly remoteAddress = '127.0.0.1'
  readonly remotePort = 40_000
  onData: (chunk: Buffer) => void = ignore
  onClose: (error?: Error) => void = ignore
  /** Every write that the peer has read, one entry each. */
  readonly taken: Buffer[] = []
  /** Called with each write that the peer reads. */
  onTaken: (bytes: Buffer) => void = ignore
  /** The peer does not read: writes wait for `take`. */
  isStalled = false
  isPaused = false
  isEnded = false
  isClosed = false
  /** Number of writes in total, and maximum of simultaneous ones. */
  writeCount = 0
  maxConcurrentWrites = 0
  readonly #waiting: Write[] = []
  readonly #unread: Buffer[] = []

  get waitingBytes(): number {
    return this.#waiting.reduce((sum, { buffer }) => sum + buffer.length, 0)
  }

  write(buffer: Buffer, done: () => void): void {
    // Too late: the bytes are lost, which is reported later, as by a socket.
    if (this.isEnded) return queueMicrotask(done)
    this.#waiting.push({ buffer, original: Buffer.from(buffer), done })
    this.writeCount += 1
    this.maxConcurrentWrites = Math.max(this.maxConcurrentWrites, this.#waiting.length)
    if (!this.isStalled) queueMicrotask(() => this.#takeAll())
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
    queueMicrotask(() => this.#deliverUnread())
  }

  end(): void {
    if (this.isEnded) return
    this.isEnded = true
    this.onData = ignore
    this.#closeWhenTaken()
  }

  destroy(): void {
    this.isEnded = true
    this.onData = ignore
    queueMicrotask(() => this.#close())
  }

  /** The peer sends bytes. While reading pauses, they wait in the buffers of the peer. */
  arrive(bytes: Buffer): void {
    if (this.isPaused) this.#unread.push(bytes)
    else this.onData(bytes)
  }

  /** Bytes that the peer has sent and the shard has not read. */
  get unreadBytes(): number {
    return this.#unread.reduce((sum, chunk) => sum + chunk.length, 0)
  }

  /** The peer reads the written bytes; of one write only, if set. */
  take(only?: 'one'): void {
    if (only === 'one') this.#takeOne()
    else this.#takeAll()
  }

  /** The peer disconnects, with unread bytes. */
  break(error?: Error): void {
    this.#close(error)
  }

  #takeAll(): void {
    const { length } = this.#waiting
    for (let count = 0; count < length; count++) this.#takeOne()
  }

  #takeOne(): void {
    const write = this.#waiting.shift()
    if (write === undefined) return
    assert(write.buffer.equals(write.original), 'a buffer was changed while the stream had it')
    this.taken.push(write.original)
    this.onTaken(write.original)
    write.done()
    this.#closeWhenTaken()
  }

  #deliverUnread(): void {
    while (!this.isPaused && this.#unread.length > 0) this.onData(this.#unread.shift() ?? Buffer.alloc(0))
  }

  #closeWhenTaken(): void {
    if (this.isEnded && this.#waiting.length === 0) queueMicrotask(() => this.#close())
  }

  #close(error?: Error): void {
    if (this.isClosed) return
    this.isClosed = true
    this.isEnded = true
    this.onData = ignore
    for (const { done } of this.#waiting.splice(0)) done()
    this.onClose(error)
  }
}
