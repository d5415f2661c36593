// Alarms: raised where a problem is detected, active until it ends, and passed to listeners.
//
//   raise ──> active: one for each name, with its sources ──over──> history: the last of them
//
// Names are constants, so there are few. Several sources (shards, listeners) may have the same alarm, which ends when it has ended for all
// of them.

import { maskUrlSecrets } from '../../config/index.ts'
import type { AlarmName, Logger } from '../../telemetry/index.ts'

export interface Alarm {
  readonly name: string
  /** The latest text. */
  readonly message: string
  /** Wall clock. */
  readonly activatedAtMs: number
  /** Undefined: it is active. */
  readonly deactivatedAtMs: number | undefined
  /** Number of times that the alarm was raised since it became active. */
  readonly occurrences: number
}

export interface AlarmsOptions {
  readonly log: Pick<Logger, 'error' | 'warn'>
  readonly nowMs?: () => number
  readonly maxInHistory?: number
}

/** Called for every raised and every ended alarm. */
export type AlarmListener = (change: 'activate' | 'deactivate', alarm: Alarm) => void

const defaultMaxInHistory = 1_000
/** Only the broker raises alarms; more would be an internal error. */
const maxActive = 1_000

interface ActiveAlarm {
  message: string
  readonly activatedAtMs: number
  readonly sources: Set<string>
  occurrences: number
}

export class Alarms {
  readonly #options: AlarmsOptions
  readonly #nowMs: () => number
  readonly #active = new Map<string, ActiveAlarm>()
  readonly #history: Alarm[] = []
  readonly #listeners: AlarmListener[] = []

  constructor(options: AlarmsOptions) {
    this.#options = options
    this.#nowMs = options.nowMs ?? Date.now
  }

  listen(listener: AlarmListener): void {
    this.#listeners.push(listener)
  }

  /** `source`: identifies the origin, if several may raise it. */
  raise(name: AlarmName, text: string, source = ''): void {
    const message = maskUrlSecrets(text)
    let active = this.#active.get(name)
    if (active === undefined) {
      if (this.#active.size >= maxActive) return
      active = { message, activatedAtMs: this.#nowMs(), sources: new Set(), occurrences: 0 }
      this.#active.set(name, active)
    }
    active.message = message
    active.occurrences += 1
    if (active.sources.size < maxActive) active.sources.add(source)
    this.#options.log.error('alarm', { name, message })
    this.#notifyListeners('activate', toAlarm(name, active, undefined))
  }

  /** Updates the text of an active alarm, such as a number in it, without raising it again. */
  update(name: AlarmName, text: string): void {
    const active = this.#active.get(name)
    if (active !== undefined) active.message = maskUrlSecrets(text)
  }

  /** The problem has ended for this source. Does nothing if it was not raised. */
  end(name: string, message: string, source = ''): void {
    const active = this.#active.get(name)
    if (active === undefined || !active.sources.delete(source) || active.sources.size > 0) return
    this.#end(name, active, message)
  }

  /** An administrator ends the alarm. False: it is not active. */
  deactivate(name: string): boolean {
    const active = this.#active.get(name)
    if (active === undefined) return false
    this.#end(name, active, active.message)
    return true
  }

  /** Returns names of alarms that this source raised. */
  listRaised(source: string): string[] {
    return [...this.#active].filter(([, { sources }]) => sources.has(source)).map(([name]) => name)
  }

  /** Oldest first. */
  listActive(): Alarm[] {
    return [...this.#active].map(([name, active]) => toAlarm(name, active, undefined))
  }

  /** Ended alarms, the latest first. */
  listHistory(): Alarm[] {
    return this.#history.toReversed()
  }

  forgetHistory(): void {
    this.#history.length = 0
  }

  #end(name: string, active: ActiveAlarm, message: string): void {
    this.#active.delete(name)
    const alarm = toAlarm(name, active, this.#nowMs())
    this.#history.push(alarm)
    if (this.#history.length > (this.#options.maxInHistory ?? defaultMaxInHistory)) this.#history.shift()
    this.#options.log.warn('alarm ended', { name, message })
    this.#notifyListeners('deactivate', alarm)
  }

  #notifyListeners(change: 'activate' | 'deactivate', alarm: Alarm): void {
    for (const listener of this.#listeners) listener(change, alarm)
  }
}

function toAlarm(name: string, active: ActiveAlarm, deactivatedAtMs: number | undefined): Alarm {
  const { message, activatedAtMs, occurrences } = active
  return { name, message, activatedAtMs, deactivatedAtMs, occurrences }
}
