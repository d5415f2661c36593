// The log of a thread that writes no files: it sends its lines to the main thread. The number of waiting lines is limited, so a
// blocked terminal costs lines and not memory. The lines of one event per second are limited, so many clients cannot fill the
// disk.
//
//   shard: posted 7,400 ----> message port ----> main thread: taken 7,390   (a shared cell)

import { type Counters, counterCells } from './counters.ts'
import { isLogged, type Log, type LogFields, type LogLevel } from './log.ts'
import { shortFields } from './short-fields.ts'

/** Maximum lines of one shard that wait for the main thread; further ones are dropped and counted. */
export const maxWaitingLogLines = 4_096

/** Maximum lines of one event per second; further ones are dropped and counted, and their number is one later line. */
export const maxLinesPerEventAndSecond = 1_000
const secondMs = 1_000

interface EventSecond {
  endsAtMs: number
  lines: number
  leftOut: number
}

export type PostLine = (level: LogLevel, event: string, fields: LogFields | undefined) => void

export class ForwardingLog implements Log {
  #threshold: LogLevel
  readonly #counters: Counters
  readonly #post: PostLine
  readonly #nowMs: () => number
  /** The current second of each event. Events are constant texts, so there are few. */
  readonly #seconds: Map<string, EventSecond>
  #posted: number

  /**
   * `counters` is the row of the thread that logs; the main thread counts there what it has taken. `nowMs` is a clock
   * that does not jump.
   */
  constructor(threshold: LogLevel, counters: Counters, post: PostLine, nowMs: () => number = monotonicMs) {
    this.#threshold = threshold
    this.#counters = counters
    this.#post = post
    this.#nowMs = nowMs
    this.#seconds = new Map()
    // After a restart of the shard, the count of the main thread continues.
    this.#posted = counters.get(counterCells.logLinesTaken)
  }

  /** Changes the level from which events are logged. */
  changeThreshold(threshold: LogLevel): void {
    this.#threshold = threshold
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
    const second = this.#secondOf(event, level)
    second.lines += 1
    if (second.lines > maxLinesPerEventAndSecond) {
      second.leftOut += 1
      this.#counters.add(counterCells.logLinesDropped, 1)
      return
    }
    this.#hand(level, event, fields)
  }

  /** Returns the current second of an event. When one ends, the number of its dropped lines is logged. */
  #secondOf(event: string, level: LogLevel): EventSecond {
    const nowMs = this.#nowMs()
    let second = this.#seconds.get(event)
    if (second !== undefined && nowMs < second.endsAtMs) return second
    if (second !== undefined && second.leftOut > 0) {
      this.#hand(level, 'log lines dropped', { of: event, lines: second.leftOut })
    }
    second = { endsAtMs: nowMs + secondMs, lines: 0, leftOut: 0 }
    this.#seconds.set(event, second)
    return second
  }

  #hand(level: LogLevel, event: string, fields: LogFields | undefined): void {
    if (this.#posted - this.#counters.get(counterCells.logLinesTaken) >= maxWaitingLogLines) {
      this.#counters.add(counterCells.logLinesDropped, 1)
      return
    }
    this.#posted += 1
    // Cut here: with client IDs of 60 KB the copies for the main thread took 100 MB there.
    this.#post(level, event, fields === undefined ? undefined : shortFields(fields))
  }
}

const monotonicMs = (): number => performance.now()
