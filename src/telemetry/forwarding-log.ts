// The log of a thread that writes no files: it sends its lines to the main thread. The number of waiting lines is limited: if the
// main thread is blocked, for example by a terminal, lines are dropped and memory does not grow. The lines of one event per second
// are limited, so many clients cannot fill the disk.
//
//   shard: posted 7,400 ----> message port ----> main thread: taken 7,390   (a shared cell)

import { type Counters, counterCells } from './counters.ts'
import { isLogged, type Log, type LogFields, type LogLevel } from './log.ts'
import { shortenFields } from './shorten-fields.ts'

/** Maximum lines of one shard that wait for the main thread; further ones are dropped and counted. */
export const maxWaitingLogLines = 4_096

/** Maximum lines of one event per second; further ones are dropped and counted, and a later line reports how many. */
export const maxLinesPerEventAndSecond = 1_000
const secondMs = 1_000

interface EventSecond {
  endsAtMs: number
  lines: number
  droppedLines: number
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
   * `counters` is the row of the thread that logs; the main thread counts there the lines that it has taken. `nowMs` is a clock
   * that does not jump.
   */
  constructor(threshold: LogLevel, counters: Counters, post: PostLine, nowMs: () => number = readMonotonicMs) {
    this.#threshold = threshold
    this.#counters = counters
    this.#post = post
    this.#nowMs = nowMs
    this.#seconds = new Map()
    // After a restart of the shard, the count of the main thread continues.
    this.#posted = counters.get(counterCells.logLinesTaken)
  }

  /** Sets the lowest level that is logged. */
  changeLevel(threshold: LogLevel): void {
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
    const second = this.#openEventSecond(event, level)
    second.lines += 1
    if (second.lines > maxLinesPerEventAndSecond) {
      second.droppedLines += 1
      this.#counters.add(counterCells.logLinesDropped, 1)
      return
    }
    this.#postLine(level, event, fields)
  }

  /** Returns the current second of an event. When one ends, the number of its dropped lines is logged. */
  #openEventSecond(event: string, level: LogLevel): EventSecond {
    const nowMs = this.#nowMs()
    let second = this.#seconds.get(event)
    if (second !== undefined && nowMs < second.endsAtMs) return second
    if (second !== undefined && second.droppedLines > 0) {
      this.#postLine(level, 'log lines dropped', { of: event, lines: second.droppedLines })
    }
    second = { endsAtMs: nowMs + secondMs, lines: 0, droppedLines: 0 }
    this.#seconds.set(event, second)
    return second
  }

  #postLine(level: LogLevel, event: string, fields: LogFields | undefined): void {
    if (this.#posted - this.#counters.get(counterCells.logLinesTaken) >= maxWaitingLogLines) {
      this.#counters.add(counterCells.logLinesDropped, 1)
      return
    }
    this.#posted += 1
    // Long values are cut before they are posted: 4,096 waiting lines with client IDs of 60 KB would take up to 250 MB
    // of the main thread's memory.
    this.#post(level, event, fields === undefined ? undefined : shortenFields(fields))
  }
}

const readMonotonicMs = (): number => performance.now()
