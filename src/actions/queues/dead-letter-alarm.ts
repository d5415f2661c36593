// Counts dead letters of an action that are dropped because it has `max_buffer_messages` of them, and raises an alarm.

import type { AlarmName, Log } from '../../telemetry/index.ts'

export interface DeadLetterAlarmDependencies {
  readonly log: Pick<Log, 'warn'>
  raiseAlarm(name: AlarmName, message: string): void
  endAlarm(name: AlarmName, message: string): void
  /** Number of dead letters that were dropped since the session of dead letters or the action was opened. */
  dropped(): number
}

/** Part of the maximum below which the alarm ends. */
const relievedPart = 0.9

export class DeadLetterAlarm {
  readonly #action: string
  readonly #dependencies: DeadLetterAlarmDependencies
  #known: number
  #isRaised = false

  constructor(action: string, dependencies: DeadLetterAlarmDependencies) {
    this.#action = action
    this.#dependencies = dependencies
    this.#known = dependencies.dropped()
  }

  /** Returns the number of letters that were dropped since the last call. */
  check(stored: number, maxLetters: number): number {
    const { log } = this.#dependencies
    const all = this.#dependencies.dropped()
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
    this.#dependencies.raiseAlarm(
      `dead-letters:${this.#action}`,
      `the action ${this.#action} has ${maxLetters} dead letters in a shard, the maximum, and drops the oldest: send them again or delete them (godwit ctl actions dead-letters ${this.#action}), or increase resource_opts.max_buffer_messages`,
    )
  }

  end(why: string): void {
    if (!this.#isRaised) return
    this.#isRaised = false
    this.#dependencies.endAlarm(`dead-letters:${this.#action}`, `the action ${this.#action} ${why}`)
  }
}
