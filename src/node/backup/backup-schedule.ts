// Schedules automatic backups, and the deletion of the oldest ones.

/** Time of automatic backups, and the number of them that is stored. */
export interface BackupSchedule {
  /** `03:30`, or `sun 03:30`; undefined: never. */
  readonly when: string | undefined
  /** Number of stored automatic backups: older ones are deleted. */
  readonly keep: number
}

export interface ScheduleDependencies {
  /** Wall clock. */
  readonly nowMs: () => number
  /** Makes one, and deletes those beyond `keep`. Never rejects. */
  readonly make: (keep: number) => Promise<void>
}

const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const dayMs = 86_400_000

/** A timer of days would ignore changes of the clock, so the time is checked at this interval. */
const maxWaitMs = 60_000

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
    this.#nextAtMs = findNextTime(schedule.when, this.#world.nowMs())
    this.#wait()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #wait(): void {
    if (this.#nextAtMs === undefined) return
    const waitMs = Math.min(maxWaitMs, Math.max(0, this.#nextAtMs - this.#world.nowMs()))
    this.#timer = setTimeout(() => this.poll(), waitMs)
    this.#timer.unref()
  }

  /** Checks whether it is time. */
  poll(): void {
    const { when, keep } = this.#schedule
    const nowMs = this.#world.nowMs()
    if (this.#nextAtMs !== undefined && nowMs >= this.#nextAtMs) {
      this.#nextAtMs = findNextTime(when, nowMs)
      void this.#world.make(keep)
    }
    this.stop()
    this.#wait()
  }
}

/** Returns the first time after `nowMs`, in the time zone of this machine. undefined: never. */
export function findNextTime(when: string | undefined, nowMs: number): number | undefined {
  const [, day, hours, minutes] = /^(?:(\w{3}) )?(\d\d):(\d\d)$/.exec(when ?? '') ?? []
  if (hours === undefined || minutes === undefined) return undefined
  for (let ahead = 0; ahead <= 8; ahead++) {
    // Calendar days: at a change of daylight saving time one has 23 or 25 hours.
    const noon = new Date(nowMs)
    noon.setHours(12, 0, 0, 0)
    const date = new Date(noon.getTime() + ahead * dayMs)
    date.setHours(Number(hours), Number(minutes), 0, 0)
    const isDay = day === undefined || dayNames[date.getDay()] === day
    if (isDay && date.getTime() > nowMs) return date.getTime()
  }
  return undefined
}
