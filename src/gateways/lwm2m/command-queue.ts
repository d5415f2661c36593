// Commands that wait for a device, oldest first. Commands that arrived with QoS 1 or 2 are in the queue of the session until they are
// acknowledged. The gateway stores the others, which arrived with QoS 0 or over the API.

import type { Command } from './commands.ts'

/** Lifetime of a command whose message has no expiry interval. */
export const commandLifetimeMs = 7_200_000

export interface WaitingCommand {
  readonly command: Command
  readonly expiresAtMs: number
  /** Acknowledges the message of the command, when it was executed or dropped. Undefined: the message needs no acknowledgement. */
  readonly done: (() => void) | undefined
}

/** A command that the gateway stores across restarts. */
export interface StoredCommand {
  readonly fields: Readonly<Record<string, unknown>>
  readonly expiresAtMs: number
}

export class CommandQueue {
  readonly #maxWaiting: number
  readonly #onDrop: () => void
  readonly #waiting: WaitingCommand[] = []
  /** The command that was sent to the device. One is sent at a time. */
  current: WaitingCommand | undefined

  constructor(maxWaiting: number, onDrop: () => void) {
    this.#maxWaiting = maxWaiting
    this.#onDrop = onDrop
  }

  /** Time at which the oldest waiting command expires. */
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

  /** Takes the oldest command, which the caller sends to the device. */
  begin(): WaitingCommand | undefined {
    this.current = this.#waiting.shift()
    return this.current
  }

  /** Returns the current command to the front of the queue, because the device sleeps. */
  putBack(): void {
    if (this.current !== undefined) this.#waiting.unshift(this.current)
    this.current = undefined
  }

  /** Whether a waiting command is in no queue of the broker. */
  get hasCommandsToStore(): boolean {
    return this.#waiting.some(({ done }) => done === undefined)
  }

  /** Returns the waiting commands that the broker does not store, so that the gateway can store them. */
  toStore(): readonly StoredCommand[] {
    const all = this.current === undefined ? this.#waiting : [this.current, ...this.#waiting]
    return all
      .filter(({ done }) => done === undefined)
      .map(({ command: { received: fields }, expiresAtMs }) => ({ fields, expiresAtMs }))
  }

  #drop(): void {
    this.#onDrop()
    this.#waiting.shift()?.done?.()
  }
}
