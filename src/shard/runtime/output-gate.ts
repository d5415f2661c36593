// What a shard of a cluster sends leaves only while its node has a lease. The check comes after the decision: what was decided without a lease waits,
// and leaves when there is a lease again. Then the life has not ended meanwhile, so no other node has acted without this shard. If the life has
// ended, the process ends, and what waits is never sent.

import { type Instant, LeaseCell } from '../../cluster/index.ts'
import type { LinkPort } from '../../links/index.ts'

const checkIntervalMs = 50

export interface OutputGateOptions {
  readonly lease: SharedArrayBuffer
  readonly readClocks: () => Instant
}

export class OutputGate {
  readonly #lease: LeaseCell
  readonly #readClocks: () => Instant
  readonly #waiting = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined

  constructor({ lease, readClocks }: OutputGateOptions) {
    this.#lease = new LeaseCell(lease)
    this.#readClocks = readClocks
  }

  get isOpen(): boolean {
    return this.#lease.isHeld(this.#readClocks())
  }

  /** Calls `resume` once when there is a lease again. A function that waits already is called once. */
  wait(resume: () => void): void {
    this.#waiting.add(resume)
    this.#timer ??= setInterval(() => this.#check(), checkIntervalMs)
  }

  #check(): void {
    if (!this.isOpen) return
    clearInterval(this.#timer)
    this.#timer = undefined
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const resume of waiting) resume()
  }
}

/** The end of a link whose link buffers wait for the gate. `Link` limits how many bytes its peer has not confirmed. */
export class GatedPort implements LinkPort {
  readonly #port: LinkPort
  readonly #gate: OutputGate
  #waiting: ArrayBuffer[] = []
  #isClosed = false
  readonly #resume = (): void => this.#sendWaiting()

  constructor(port: LinkPort, gate: OutputGate) {
    this.#port = port
    this.#gate = gate
  }

  set onBuffer(onBuffer: (buffer: ArrayBuffer) => void) {
    this.#port.onBuffer = onBuffer
  }

  set onFullChange(onFullChange: (isFull: boolean) => void) {
    this.#port.onFullChange = onFullChange
  }

  set onClose(onClose: () => void) {
    this.#port.onClose = onClose
  }

  send(buffer: ArrayBuffer): void {
    if (this.#waiting.length === 0 && this.#gate.isOpen) return this.#port.send(buffer)
    this.#waiting.push(buffer)
    this.#gate.wait(this.#resume)
  }

  close(): void {
    this.#isClosed = true
    this.#waiting = []
    this.#port.close()
  }

  #sendWaiting(): void {
    if (this.#isClosed) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const buffer of waiting) this.send(buffer)
  }
}
