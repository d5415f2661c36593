// Logs dropped messages: the first at once, then one line per second while there are more, so that a slow client fills
// neither the log nor the time of others. Counters count all of them.

import type { BrokerEvent, DropReason } from '../../core/index.ts'
import type { Log } from '../../telemetry/index.ts'

type Dropped = Extract<BrokerEvent, { event: 'message-dropped' }>

const lineIntervalMs = 1_000

export class DropLog {
  readonly #log: Log
  readonly #countDropped: () => number
  #reported = 0
  #lastClientId = ''
  #lastTopic = ''
  #lastReason: DropReason = 'expired'
  /** While this timer runs, nothing is logged. */
  #pause: NodeJS.Timeout | undefined = undefined

  /** `droppedSoFar`: the counter of all drops. */
  constructor(log: Log, droppedSoFar: () => number) {
    this.#log = log
    this.#countDropped = droppedSoFar
  }

  record({ clientId, message, reason }: Dropped): void {
    this.#lastClientId = clientId
    this.#lastTopic = message.topic.name
    this.#lastReason = reason
    if (this.#pause === undefined) this.#report(this.#countDropped())
  }

  #report(dropped: number): void {
    this.#log.warn('messages dropped', {
      count: dropped - this.#reported,
      lastClientId: this.#lastClientId,
      lastTopic: this.#lastTopic,
      lastReason: this.#lastReason,
      more: 'godwit ctl dropped',
    })
    this.#reported = dropped
    this.#pause = setTimeout(() => this.#continueAfterPause(), lineIntervalMs).unref()
  }

  #continueAfterPause(): void {
    this.#pause = undefined
    const dropped = this.#countDropped()
    if (dropped > this.#reported) this.#report(dropped)
  }
}
