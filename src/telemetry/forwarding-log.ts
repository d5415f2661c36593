// The log of a thread that writes no files: it hands its lines to the main thread. How many lie between the two is
// bounded, so that a terminal that nobody reads costs lines and not memory.
//
//   shard: posted 7,400 ----> message port ----> main thread: taken 7,390   (a shared cell)

import { type Counters, counterCells } from './counters.ts'
import { isLogged, type Log, type LogFields, type LogLevel } from './log.ts'

/** Lines of one shard that may wait for the main thread; further ones are dropped and counted. */
export const maxWaitingLogLines = 4_096

export type PostLine = (level: LogLevel, event: string, fields: LogFields | undefined) => void

export class ForwardingLog implements Log {
  readonly #threshold: LogLevel
  readonly #counters: Counters
  readonly #post: PostLine
  #posted: number

  /** `counters` is the row of the thread that logs; the main thread counts there what it has taken. */
  constructor(threshold: LogLevel, counters: Counters, post: PostLine) {
    this.#threshold = threshold
    this.#counters = counters
    this.#post = post
    // After a restart of the shard the main thread's count goes on from where it was.
    this.#posted = counters.get(counterCells.logLinesTaken)
  }

  debug(event: string, fields?: LogFields): void {
    this.#forward('debug', event, fields)
  }

  info(event: string, fields?: LogFields): void {
    this.#forward('info', event, fields)
  }

  warn(event: string, fields?: LogFields): void {
    this.#forward('warn', event, fields)
  }

  error(event: string, fields?: LogFields): void {
    this.#forward('error', event, fields)
  }

  #forward(level: LogLevel, event: string, fields: LogFields | undefined): void {
    if (!isLogged(level, this.#threshold)) return
    if (this.#posted - this.#counters.get(counterCells.logLinesTaken) >= maxWaitingLogLines) {
      this.#counters.add(counterCells.logLinesDropped, 1)
      return
    }
    this.#posted += 1
    this.#post(level, event, fields)
  }
}
