// Who is read from. A reader stands still while its connection has more input than a turn takes, while the core wants
// it to, and while its client does not read the answers. Input that was set back goes on in later turns, round robin.

import type { ClientOutput } from './client-output.ts'

export interface ReadSchedulerOwner {
  /** Packets of one connection, until they are used up or the turn is over. */
  read(outlet: ClientOutput): void
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
  noteInput(outlet: ClientOutput, bytes: number, turn: number): void {
    if (outlet.inputTurn !== turn) {
      outlet.inputTurn = turn
      outlet.inputBytes = 0
    }
    outlet.inputBytes += bytes
  }

  setBackIfGreedy(outlet: ClientOutput): void {
    if (outlet.inputBytes >= maxInputBytesPerTurn && !outlet.isBacklogged) this.setBack(outlet)
  }

  /** More input than fits this turn: the reader stands still and the rest waits its turn behind the others. */
  setBack(outlet: ClientOutput): void {
    outlet.isBacklogged = true
    this.#backlog.push(outlet)
    this.#stop(outlet)
    this.#owner.planTurnEnd()
  }

  /** The core wants it to stand still, or no longer. */
  change(outlet: ClientOutput, isPaused: boolean): void {
    if (isPaused) return this.#stop(outlet)
    if (outlet.isClosed || outlet.isBacklogged) return
    // What has arrived already comes first, at the next turn: now other handlers may be under way.
    outlet.isBacklogged = true
    this.#backlog.push(outlet)
    this.#owner.planTurnEnd()
  }

  /** Who asks and does not read the answers is not read from either: nothing else bounds what they take. */
  stopIfOwing(outlet: ClientOutput): void {
    if (this.#owesTooMuch(outlet)) this.#stop(outlet)
  }

  /** Unless something else keeps it. */
  start(outlet: ClientOutput): void {
    if (!outlet.isReaderStopped || outlet.isBacklogged || outlet.connection?.isPaused === true) return
    if (this.#owesTooMuch(outlet)) return
    outlet.isReaderStopped = false
    outlet.stream.resume()
  }

  /** As many as fit into the time of a turn; the others keep their place before those that are set back anew. */
  goOn(isOverdue: () => boolean): void {
    if (this.#backlog.length === 0) return
    const backlog = this.#backlog
    this.#backlog = []
    let index = 0
    do {
      const outlet = backlog[index++]
      outlet.isBacklogged = false
      if (!outlet.isClosed) this.#owner.read(outlet)
      this.start(outlet)
    } while (index < backlog.length && !isOverdue())
    if (index < backlog.length) this.#backlog = [...backlog.slice(index), ...this.#backlog]
  }

  #owesTooMuch(outlet: ClientOutput): boolean {
    return outlet.unreadAnswerBytes > this.#owner.maxUnsentBytes()
  }

  #stop(outlet: ClientOutput): void {
    if (outlet.isReaderStopped) return
    outlet.isReaderStopped = true
    outlet.stream.pause()
  }
}
