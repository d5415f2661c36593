// Archives that the broker makes by itself, and the removal of the oldest of them.

/** When one is to be made. */
export interface BackupSchedule {
  /** `03:30`, or `sun 03:30`; undefined: never. */
  readonly when: string | undefined
  readonly keep: number
}

export interface ScheduleDependencies {
  /** Wall clock. */
  readonly nowMs: () => number
  /** Makes one, and removes those beyond so many. Never rejects. */
  readonly make: (keep: number) => Promise<void>
}

const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const dayMs = 86_400_000

/** A timer for days would be off by as much as the clock is set meanwhile: it is looked at again at such intervals. */
const longestWaitMs = 60_000

export class ScheduledBackups {
  readonly #world: ScheduleDependencies
  #schedule: BackupSchedule
  #nextAtMs: number | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(schedule: BackupSchedule, world: ScheduleDependencies) {
    this.#world = world
    this.#schedule = schedule
    this.#nextAtMs = undefined
    this.#timer = undefined
  }

  start(): void {
    this.change(this.#schedule)
  }

  change(schedule: BackupSchedule): void {
    this.stop()
    this.#schedule = schedule
    this.#nextAtMs = nextMoment(schedule.when, this.#world.nowMs())
    this.#wait()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #wait(): void {
    if (this.#nextAtMs === undefined) return
    const waitMs = Math.min(longestWaitMs, Math.max(0, this.#nextAtMs - this.#world.nowMs()))
    this.#timer = setTimeout(() => this.look(), waitMs)
    this.#timer.unref()
  }

  /** Whether it is time. */
  look(): void {
    const { when, keep } = this.#schedule
    const nowMs = this.#world.nowMs()
    if (this.#nextAtMs !== undefined && nowMs >= this.#nextAtMs) {
      this.#nextAtMs = nextMoment(when, nowMs)
      void this.#world.make(keep)
    }
    this.stop()
    this.#wait()
  }
}

/** The first moment after `nowMs`, by the clock of this machine. undefined: never. */
export function nextMoment(when: string | undefined, nowMs: number): number | undefined {
  const [, day, hours, minutes] = /^(?:(\w{3}) )?(\d\d):(\d\d)$/.exec(when ?? '') ?? []
  if (hours === undefined || minutes === undefined) return undefined
  for (let ahead = 0; ahead <= 8; ahead++) {
    // Days by the calendar: where clocks change, one is an hour longer or shorter.
    const noon = new Date(nowMs)
    noon.setHours(12, 0, 0, 0)
    const date = new Date(noon.getTime() + ahead * dayMs)
    date.setHours(Number(hours), Number(minutes), 0, 0)
    const isDay = day === undefined || dayNames[date.getDay()] === day
    if (isDay && date.getTime() > nowMs) return date.getTime()
  }
  return undefined
}
