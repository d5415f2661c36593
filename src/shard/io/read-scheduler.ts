// Decides which connections are read. Reading pauses while a connection has more input than one turn handles, while the
// core requires it, and while its client does not read acknowledgements. Postponed input continues in later turns,
// round robin.

import type { ClientOutput } from './client-output.ts'

export interface ReadSchedulerCallbacks {
  /** Handles packets of one connection until none is left or the turn is over. */
  read(output: ClientOutput): void
  planTurnEnd(): void
  /** Maximum unread bytes of acknowledgements per connection. */
  readMaxUnsentBytes(): number
}

/** Maximum input of one connection that a turn handles; the rest waits for the next turn. The operating system delivers up to 2 MiB at once. */
const maxInputBytesPerTurn = 262_144

export class ReadScheduler {
  readonly #callbacks: ReadSchedulerCallbacks
  /** Connections with received input that was not handled. */
  #backlog: ClientOutput[] = []

  constructor(callbacks: ReadSchedulerCallbacks) {
    this.#callbacks = callbacks
  }

  /** Counts received bytes against the limit of this turn. */
  countInput(output: ClientOutput, bytes: number, turn: number): void {
    if (output.inputTurn !== turn) {
      output.inputTurn = turn
      output.inputBytes = 0
    }
    output.inputBytes += bytes
  }

  /** Postpones the input of the connection if it has reached the limit of this turn. */
  postponeIfOverLimit(output: ClientOutput): void {
    if (output.inputBytes >= maxInputBytesPerTurn && !output.isBacklogged) this.postpone(output)
  }

  /** Pauses reading, because there is more input than one turn handles. Other connections are read before the rest. */
  postpone(output: ClientOutput): void {
    output.isBacklogged = true
    this.#backlog.push(output)
    this.#pause(output)
    this.#callbacks.planTurnEnd()
  }

  /** Pauses or resumes reading, as the core decided. */
  change(output: ClientOutput, isPaused: boolean): void {
    if (isPaused) return this.#pause(output)
    if (output.isClosed || output.isBacklogged) return
    // Received input is handled first, in the next turn, because another handler may be running now.
    output.isBacklogged = true
    this.#backlog.push(output)
    this.#callbacks.planTurnEnd()
  }

  /** Pauses reading from a client that does not read acknowledgements. Nothing else limits the memory of unread acknowledgements. */
  pauseIfResponsesUnread(output: ClientOutput): void {
    if (this.#hasUnreadResponses(output)) this.#pause(output)
  }

  /** Resumes reading, unless there is another reason to pause. */
  resume(output: ClientOutput): void {
    if (!output.isReadingPaused || output.isBacklogged || output.connection?.isPaused === true) return
    if (this.#hasUnreadResponses(output)) return
    output.isReadingPaused = false
    output.stream.resume()
  }

  /** Reads connections of the backlog until the turn is over. The others stay in the backlog, before those that are postponed now. */
  continueBacklog(isOverdue: () => boolean): void {
    if (this.#backlog.length === 0) return
    const backlog = this.#backlog
    this.#backlog = []
    let index = 0
    do {
      const output = backlog[index++]
      output.isBacklogged = false
      if (!output.isClosed) this.#callbacks.read(output)
      this.resume(output)
    } while (index < backlog.length && !isOverdue())
    if (index < backlog.length) this.#backlog = [...backlog.slice(index), ...this.#backlog]
  }

  #hasUnreadResponses(output: ClientOutput): boolean {
    return output.unreadResponseBytes > this.#callbacks.readMaxUnsentBytes()
  }

  #pause(output: ClientOutput): void {
    if (output.isReadingPaused) return
    output.isReadingPaused = true
    output.stream.pause()
  }
}
