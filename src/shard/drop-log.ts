// Dropped messages in the log: the first at once, then one line for all of a second, so that a client that does not
// read fills neither the log nor the time of the others. Counters tell every one.

import type { BrokerEvent } from '../core/index.ts'
import type { Log } from '../telemetry/index.ts'

type Dropped = Extract<BrokerEvent, { event: 'message-dropped' }>

const lineIntervalMs = 1_000

export class DropLog {
  readonly #log: Log
  readonly #droppedSoFar: () => number
  #toldMs = -Infinity
  #told = 0

  /** `droppedSoFar`: the counter of all drops. */
  constructor(log: Log, droppedSoFar: () => number) {
    this.#log = log
    this.#droppedSoFar = droppedSoFar
  }

  note(event: Dropped, nowMs: number): void {
    if (nowMs - this.#toldMs < lineIntervalMs) return
    const dropped = this.#droppedSoFar()
    this.#log.warn('messages dropped', {
      count: dropped - this.#told,
      lastClientId: event.clientId,
      lastTopic: event.message.topic.name,
      lastReason: event.reason,
    })
    this.#toldMs = nowMs
    this.#told = dropped
  }
}
