// The log of a plugin: at most 100 lines in a second, also through `console`.

import { format } from 'node:util'
import type { ControlFromProcess, LogLevelOfPlugin } from '../calls/control-messages.ts'

const maxLinesPerSecond = 100
const maxTextLength = 8_192
const windowMs = 1_000

export class LimitedLog {
  readonly #send: (message: ControlFromProcess) => void
  #lines = 0
  #dropped = 0
  #windowStartMs = -windowMs

  constructor(send: (message: ControlFromProcess) => void) {
    this.#send = send
  }

  write(level: LogLevelOfPlugin, text: unknown): void {
    const nowMs = performance.now()
    if (nowMs - this.#windowStartMs >= windowMs) this.#startWindow(nowMs)
    if (this.#lines++ >= maxLinesPerSecond) {
      if (this.#dropped++ === 0) setTimeout(() => this.#reportDropped(), windowMs)
      return
    }
    this.#send({ kind: 'log', level, text: String(text).slice(0, maxTextLength) })
  }

  #startWindow(nowMs: number): void {
    this.#lines = 0
    this.#windowStartMs = nowMs
  }

  #reportDropped(): void {
    this.#send({ kind: 'log-dropped', lines: this.#dropped })
    this.#dropped = 0
  }

  /** `console` writes to this log: the process has no output. */
  replaceConsole(): void {
    const levels = { debug: 'debug', trace: 'debug', log: 'info', info: 'info', warn: 'warn', error: 'error' } as const
    for (const [name, level] of Object.entries(levels))
      console[name as keyof typeof levels] = (...values: unknown[]): void => this.write(level, format(...values))
  }
}
