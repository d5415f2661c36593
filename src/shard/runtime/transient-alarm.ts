// An alarm about something that happens again and again for a while: raised when it does, said again after a minute if it
// goes on, and over when it has not happened for a minute.

import type { AlarmName } from '../../telemetry/index.ts'

export interface TransientAlarmDependencies {
  alarm(name: AlarmName, message: string): void
  alarmOver(name: AlarmName, message: string): void
}

export interface TransientAlarmTexts {
  readonly name: AlarmName
  /** What is said when it is over. */
  readonly over: string
}

const intervalMs = 60_000

export class TransientAlarm {
  readonly #world: TransientAlarmDependencies
  readonly #words: TransientAlarmTexts
  /** What was said since the last look; undefined: it has not happened since. */
  #again: string | undefined = undefined
  /** Runs while the alarm holds. */
  #look: NodeJS.Timeout | undefined = undefined

  constructor(world: TransientAlarmDependencies, words: TransientAlarmTexts) {
    this.#world = world
    this.#words = words
  }

  /** It has happened. */
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
