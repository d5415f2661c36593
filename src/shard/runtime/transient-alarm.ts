// An alarm about repeated events. The first event raises it. Each minute, it is raised again if there was a further event, and
// ended otherwise.

import type { AlarmName } from '../../telemetry/index.ts'

export interface TransientAlarmDependencies {
  raiseAlarm(name: AlarmName, message: string): void
  endAlarm(name: AlarmName, message: string): void
}

export interface TransientAlarmTexts {
  readonly name: AlarmName
  readonly endText: string
}

const intervalMs = 60_000

export class TransientAlarm {
  readonly #dependencies: TransientAlarmDependencies
  readonly #texts: TransientAlarmTexts
  /** Text of the last event since the alarm was raised. Undefined: there was none. */
  #lastText: string | undefined = undefined
  /** Runs while the alarm is active. */
  #timer: NodeJS.Timeout | undefined = undefined

  constructor(dependencies: TransientAlarmDependencies, texts: TransientAlarmTexts) {
    this.#dependencies = dependencies
    this.#texts = texts
  }

  /** Called for each event. */
  record(message: string): void {
    if (this.#timer === undefined) this.#raise(message)
    else this.#lastText = message
  }

  #raise(message: string): void {
    this.#lastText = undefined
    this.#dependencies.raiseAlarm(this.#texts.name, message)
    this.#timer = setTimeout(() => this.#check(), intervalMs).unref()
  }

  #check(): void {
    this.#timer = undefined
    if (this.#lastText !== undefined) return this.#raise(this.#lastText)
    this.#dependencies.endAlarm(this.#texts.name, this.#texts.endText)
  }
}
