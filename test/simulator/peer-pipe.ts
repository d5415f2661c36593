// The link between two shards: buffers arrive in order, each after its own delay, also those that a shard had sent
// before it failed. Each buffer is copied, as by a transfer.

import type { LinkPort } from '../../src/links/index.ts'
import type { Stage } from './stage.ts'

export interface PipeTraits {
  /** Maximum delay of a buffer. */
  maxDelayMs: number
}

const ignore = (): void => {}

class PipeEnd implements LinkPort {
  onBuffer: (buffer: ArrayBuffer) => void = ignore
  onClose: () => void = ignore
  readonly #send: (event: (to: PipeEnd) => void) => void
  #isClosed = false
  /** Buffers that arrived before a handler was set. */
  #early: ((to: PipeEnd) => void)[] | undefined = []

  /** Buffers that this end sent and the other one has not received. */
  #inTransit = 0

  constructor(send: (event: (to: PipeEnd) => void) => void) {
    this.#send = send
  }

  send(buffer: ArrayBuffer): void {
    const [moved] = structuredClone([buffer], { transfer: [buffer] })
    if (moved === undefined) return
    this.#inTransit++
    this.#send((to) => {
      this.#inTransit--
      to.receive(moved)
    })
  }

  get isEmpty(): boolean {
    return this.#inTransit === 0
  }

  close(): void {
    this.#send((to) => to.end())
  }

  /** Its shard has failed: this end receives nothing more, and the other end is notified after it received the buffers. */
  die(): void {
    this.#isClosed = true
    this.close()
  }

  /** Sets the handler. */
  start(): void {
    const early = this.#early ?? []
    this.#early = undefined
    for (const event of early) event(this)
  }

  receive(buffer: ArrayBuffer): void {
    if (this.#isClosed) return
    if (this.#early === undefined) this.onBuffer(buffer)
    else this.#early.push((to) => to.receive(buffer))
  }

  end(): void {
    if (this.#isClosed) return
    if (this.#early !== undefined) return void this.#early.push((to) => to.end())
    this.#isClosed = true
    this.onClose()
  }
}

export type { PipeEnd }

/** Returns both ends of a new link. */
export function openPipe(stage: Stage, traits: PipeTraits): readonly [PipeEnd, PipeEnd] {
  const way = (target: () => PipeEnd): ((event: (to: PipeEnd) => void) => void) => {
    let lastAtMs = 0
    return (event) => {
      const delayMs = traits.maxDelayMs === 0 ? 0 : stage.random.between(0, traits.maxDelayMs)
      lastAtMs = Math.max(lastAtMs, stage.nowMs + delayMs)
      stage.after(lastAtMs - stage.nowMs, () => event(target()))
    }
  }
  const one: PipeEnd = new PipeEnd(way(() => other))
  const other: PipeEnd = new PipeEnd(way(() => one))
  return [one, other]
}
