// Commands that wait for a device, oldest first. Those that the broker has to be told of are in its queue until then; the others
// came with QoS 0 or over the API, and are kept by the gateway.

import type { Command } from './commands.ts'

/** Until a message or its expiry says otherwise. */
export const commandLifetimeMs = 7_200_000

export interface WaitingCommand {
  readonly command: Command
  readonly expiresAtMs: number
  /** The broker is told that it has been carried out, or is over. Undefined: it is not told. */
  readonly done: (() => void) | undefined
}

/** Across restarts. */
export interface KeptCommand {
  readonly fields: Readonly<Record<string, unknown>>
  readonly expiresAtMs: number
}

export class CommandQueue {
  readonly #maxWaiting: number
  readonly #dropped: () => void
  readonly #waiting: WaitingCommand[] = []
  /** One at a time is with the device. */
  current: WaitingCommand | undefined

  constructor(maxWaiting: number, dropped: () => void) {
    this.#maxWaiting = maxWaiting
    this.#dropped = dropped
  }

  /** When the oldest expires. */
  get expiresAtMs(): number {
    return this.current === undefined ? (this.#waiting[0]?.expiresAtMs ?? Infinity) : Infinity
  }

  push(waiting: WaitingCommand): void {
    if (this.#waiting.length >= this.#maxWaiting) this.#drop()
    this.#waiting.push(waiting)
  }

  dropExpired(nowMs: number): void {
    while ((this.#waiting[0]?.expiresAtMs ?? Infinity) <= nowMs) this.#drop()
  }

  /** The oldest is now with the device. */
  begin(): WaitingCommand | undefined {
    this.current = this.#waiting.shift()
    return this.current
  }

  /** The device sleeps: it waits again, in its place. */
  putBack(): void {
    if (this.current !== undefined) this.#waiting.unshift(this.current)
    this.current = undefined
  }

  /** Whether one waits that the broker does not keep. */
  get hasOwn(): boolean {
    return this.#waiting.some(({ done }) => done === undefined)
  }

  /** Returns the waiting commands that the broker does not store, so that the gateway can store them. */
  kept(): readonly KeptCommand[] {
    const all = this.current === undefined ? this.#waiting : [this.current, ...this.#waiting]
    return all
      .filter(({ done }) => done === undefined)
      .map(({ command: { received: fields }, expiresAtMs }) => ({ fields, expiresAtMs }))
  }

  #drop(): void {
    this.#dropped()
    this.#waiting.shift()?.done?.()
  }
}
