// A connection of the simulated network as a byte stream, as a connector gives it to a bridge.

import type { ByteStream } from '../../src/transports/index.ts'
import type { Link } from '../simulator/network.ts'
import type { Stage } from '../simulator/stage.ts'

export class LinkStream implements ByteStream {
  readonly remoteAddress = '127.0.0.1'
  readonly remotePort = 0
  onData: (chunk: Buffer) => void = () => undefined
  onClose: (error?: Error) => void = () => undefined
  readonly #stage: Stage
  readonly #link: Link
  #isOver = false
  #isBlackHole = false
  #waiting: (() => void)[] = []

  /** `lendsChunks`: the writer owns the read bytes, and reuses the memory afterwards. */
  constructor(stage: Stage, link: Link, { lendsChunks = false } = {}) {
    this.#stage = stage
    this.#link = link
    link.attachClient({
      arrived: (chunk) => {
        if (this.#isOver || this.#isBlackHole) return
        const bytes = Buffer.from(chunk)
        this.onData(bytes)
        if (lendsChunks) bytes.fill(0)
      },
      ended: (isBroken) => this.#end(isBroken ? new Error('the connection broke') : undefined),
      drained: () => this.#drain(),
    })
  }

  /** From now on, no byte arrives, and neither side receives an end or an error. */
  fallIntoBlackHole(): void {
    this.#isBlackHole = true
    this.#link.break({ clientAfterMs: undefined, brokerAfterMs: 1_000 })
  }

  write(buffer: Buffer, done: () => void): void {
    if (!this.#isOver && !this.#isBlackHole) this.#link.toBroker.send(Buffer.from(buffer))
    if (this.#isBlackHole || this.#link.toBroker.unsentBytes > 0) this.#waiting.push(done)
    else this.#stage.after(0, done)
  }

  pause(): void {
    this.#link.toClient.pause()
  }

  resume(): void {
    this.#link.toClient.resume()
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#link.toBroker.end()
    this.#stage.after(0, () => this.onClose())
  }

  destroy(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#link.break({ clientAfterMs: undefined, brokerAfterMs: 0 })
    this.#stage.after(0, () => this.onClose())
  }

  #drain(): void {
    if (this.#link.toBroker.unsentBytes > 0) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const done of waiting) this.#stage.after(0, done)
  }

  #end(error: Error | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.onClose(error)
  }
}
