// Counts dead letters of an action that are dropped because it has `max_buffer_messages` of them, and raises an alarm.

import type { ActionBroker } from '../action-broker.ts'

type AlarmBroker = Pick<ActionBroker, 'log' | 'raiseAlarm' | 'endAlarm'>

/** Part of the maximum below which the alarm ends. */
const relievedPart = 0.9

export class DeadLetterAlarm {
  readonly #action: string
  readonly #broker: AlarmBroker
  readonly #countDropped: () => number
  #known: number
  #isRaised = false

  /** `countDropped`: number of dead letters that were dropped since the session of dead letters or the action was opened. */
  constructor(action: string, broker: AlarmBroker, countDropped: () => number) {
    this.#action = action
    this.#broker = broker
    this.#countDropped = countDropped
    this.#known = countDropped()
  }

  /** Returns the number of letters that were dropped since the last call. */
  check(stored: number, maxLetters: number): number {
    const { log } = this.#broker
    const all = this.#countDropped()
    // A session that was deleted begins to count again.
    const dropped = all < this.#known ? all : all - this.#known
    this.#known = all
    if (dropped > 0) {
      log.warn('dead letters dropped', { action: this.#action, dropped, max_buffer_messages: maxLetters })
      if (!this.#isRaised) this.#raise(maxLetters)
    } else if (this.#isRaised && stored < maxLetters * relievedPart) this.end('has space for dead letters again')
    return dropped
  }

  #raise(maxLetters: number): void {
    this.#isRaised = true
    this.#broker.raiseAlarm(
      `dead-letters:${this.#action}`,
      `the action ${this.#action} has ${maxLetters} dead letters in a shard, the maximum, and drops the oldest: send them again or delete them (godwit ctl actions dead-letters ${this.#action}), or increase resource_opts.max_buffer_messages`,
    )
  }

  end(why: string): void {
    if (!this.#isRaised) return
    this.#isRaised = false
    this.#broker.endAlarm(`dead-letters:${this.#action}`, `the action ${this.#action} ${why}`)
  }
}
