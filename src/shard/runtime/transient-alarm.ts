// An alarm about repeated events: raised at the first, repeated after a minute if they continue, and ended after a
// minute without one.

import type { AlarmName } from '../../telemetry/index.ts'

export interface TransientAlarmDependencies {
  alarm(name: AlarmName, message: string): void
  alarmOver(name: AlarmName, message: string): void
}

export interface TransientAlarmTexts {
  readonly name: AlarmName
  /** Text when it ends. */
  readonly over: string
}

const intervalMs = 60_000

export class TransientAlarm {
  readonly #world: TransientAlarmDependencies
  readonly #words: TransientAlarmTexts
  /** Text of the last event since the last check; undefined: there was none. */
  #again: string | undefined = undefined
  /** Runs while the alarm is active. */
  #look: NodeJS.Timeout | undefined = undefined

  constructor(world: TransientAlarmDependencies, words: TransientAlarmTexts) {
    this.#world = world
    this.#words = words
  }

  /** The event has happened. */
  note(message: string): void {
    if (this.#look === undefined) this.#raise(message)
    else this.#again = message
  }

  #raise(message: string): void {
    this.#again = undefined
    this.#world.alarm(this.#words.name, message)
    this.#look = setTimeout(() => this.#lookAgain(), intervalMs).unref()
  }

  #lookAgain(): void {
    this.#look = undefined
    if (this.#again !== undefined) return this.#raise(this.#again)
    this.#world.alarmOver(this.#words.name, this.#words.over)
  }
}
