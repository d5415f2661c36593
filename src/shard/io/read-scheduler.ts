// Who is read from. A reader stands still while its connection has more input than a turn takes, while the core wants
// it to, and while its client does not read the answers. Input that was set back goes on in later turns, round robin.

import type { ClientOutput } from './client-output.ts'

export interface ReadSchedulerOwner {
  /** Packets of one connection, until they are used up or the turn is over. */
  read(output: ClientOutput): void
  planTurnEnd(): void
  /** Of answers that its client has not read, for each connection. */
  maxUnsentBytes(): number
}

/** More input of one connection than this waits for the next turn: the system hands out up to 2 MiB at once. */
const maxInputBytesPerTurn = 262_144

export class ReadScheduler {
  readonly #owner: ReadSchedulerOwner
  /** Connections with input that has come and not been read. */
  #backlog: ClientOutput[] = []

  constructor(owner: ReadSchedulerOwner) {
    this.#owner = owner
  }

  /** So much has come, and is to be read in this turn. */
  noteInput(output: ClientOutput, bytes: number, turn: number): void {
    if (output.inputTurn !== turn) {
      output.inputTurn = turn
      output.inputBytes = 0
    }
    output.inputBytes += bytes
  }

  postponeIfOverLimit(output: ClientOutput): void {
    if (output.inputBytes >= maxInputBytesPerTurn && !output.isBacklogged) this.postpone(output)
  }

  /** More input than fits this turn: the reader stands still and the rest waits its turn behind the others. */
  postpone(output: ClientOutput): void {
    output.isBacklogged = true
    this.#backlog.push(output)
    this.#stop(output)
    this.#owner.planTurnEnd()
  }

  /** The core wants it to stand still, or no longer. */
  change(output: ClientOutput, isPaused: boolean): void {
    if (isPaused) return this.#stop(output)
    if (output.isClosed || output.isBacklogged) return
    // What has arrived already comes first, at the next turn: now other handlers may be under way.
    output.isBacklogged = true
    this.#backlog.push(output)
    this.#owner.planTurnEnd()
  }

  /** Who asks and does not read the answers is not read from either: nothing else bounds what they take. */
  stopIfResponsesUnread(output: ClientOutput): void {
    if (this.#hasUnreadResponses(output)) this.#stop(output)
  }

  /** Unless something else keeps it. */
  start(output: ClientOutput): void {
    if (!output.isReadingPaused || output.isBacklogged || output.connection?.isPaused === true) return
    if (this.#hasUnreadResponses(output)) return
    output.isReadingPaused = false
    output.stream.resume()
  }

  /** As many as fit into the time of a turn; the others keep their place before those that are set back anew. */
  continueBacklog(isOverdue: () => boolean): void {
    if (this.#backlog.length === 0) return
    const backlog = this.#backlog
    this.#backlog = []
    let index = 0
    do {
      const output = backlog[index++]
      output.isBacklogged = false
      if (!output.isClosed) this.#owner.read(output)
      this.start(output)
    } while (index < backlog.length && !isOverdue())
    if (index < backlog.length) this.#backlog = [...backlog.slice(index), ...this.#backlog]
  }

  #hasUnreadResponses(output: ClientOutput): boolean {
    return output.unreadResponseBytes > this.#owner.maxUnsentBytes()
  }

  #stop(output: ClientOutput): void {
    if (output.isReadingPaused) return
    output.isReadingPaused = true
    output.stream.pause()
  }
}
