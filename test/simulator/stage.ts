// The ground of the simulated world: a clock that jumps, planned events, the random generator, and the log.
//
//   at 12:00:00.003  [event, event]      Nothing happens between two events, so the clock goes straight to the next.
//   at 12:00:09.500  [event]             Events of the same moment happen in the order in which they were planned.

import { Random } from './random.ts'

/** The broker, or a client that claims to be obedient, broke a promise. The sentence says which, when and in which world. */
export class Violation extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Violation'
  }
}

/** Returns the sentence for an error that ended a scenario: a violation, or an assertion of the broker. */
export function faultOf(error: unknown, seed: number): string {
  if (error instanceof Violation) return error.message
  return `the broker or the world stopped: ${error instanceof Error ? (error.stack ?? error.message) : String(error)} [seed ${seed}]`
}

export interface PlannedEvent {
  readonly atMs: number
  readonly order: number
  run: (() => void | Promise<void>) | undefined
}

/** So many events within one call are taken for a world that turns in circles. */
const maxEventsPerCall = 2_000_000

/** 2026-01-01T00:00:00Z */
export const worldBeginsAtMs = 1_767_225_600_000

export class Stage {
  readonly seed: number
  readonly random: Random
  nowMs: number
  /** Counts events: tells apart what happens in the same millisecond. */
  step: number
  /** Undefined without an observer: recording costs more than running. */
  readonly log: string[] | undefined
  /** Told how far the clock jumps, before what happens then. */
  whenClockMoves: (ms: number) => void
  private readonly agenda: PlannedEvent[]
  private planned: number
  private hasPromises: boolean

  constructor(seed: number, isRecorded: boolean) {
    this.seed = seed
    this.random = new Random(seed)
    this.nowMs = worldBeginsAtMs
    this.step = 0
    this.log = isRecorded ? [] : undefined
    this.whenClockMoves = () => undefined
    this.agenda = []
    this.planned = 0
    this.hasPromises = false
  }

  get elapsedMs(): number {
    return this.nowMs - worldBeginsAtMs
  }

  /** Plans `run` for `delayMs` from now. The returned event can be cancelled. */
  after(delayMs: number, run: () => void | Promise<void>): PlannedEvent {
    const event: PlannedEvent = { atMs: this.nowMs + Math.max(0, delayMs), order: this.planned++, run }
    push(this.agenda, event)
    return event
  }

  cancel(event: PlannedEvent | undefined): void {
    if (event !== undefined) event.run = undefined
  }

  /** Lets everything happen up to `untilMs` and moves the clock there. */
  pass(untilMs: number): void {
    for (let count = 0; ; count++) {
      const run = this.takeDue(untilMs, count)
      if (run === undefined) break
      if (run() !== undefined || this.hasPromises)
        throw new Error('something in this world takes real time: use passAsync')
    }
    this.moveClock(Math.max(this.nowMs, untilMs))
  }

  /** Code with promises has been called, or something it waits for has come: it goes on before the next event. */
  notePromises(): void {
    this.hasPromises = true
  }

  /** The same for a world with a real store in it, whose events may take real time (but no simulated time). */
  async passAsync(untilMs: number): Promise<void> {
    for (let count = 0; ; count++) {
      const run = this.takeDue(untilMs, count)
      if (run === undefined) break
      const pending = run()
      if (pending !== undefined) await pending
      if (this.hasPromises) await this.settlePromises()
    }
    this.moveClock(Math.max(this.nowMs, untilMs))
    if (this.hasPromises) await this.settlePromises()
  }

  /** Called only where there are some: the test runner follows every promise, which takes longer than most events. */
  private async settlePromises(): Promise<void> {
    this.hasPromises = false
    // Promises that need nothing but each other have settled when this is called.
    await new Promise<void>((resolve) => setImmediate(resolve))
  }

  private moveClock(nowMs: number): void {
    const ms = nowMs - this.nowMs
    this.nowMs = nowMs
    if (ms > 0) this.whenClockMoves(ms)
  }

  /** One line of the log. `what` is called only if the scenario is recorded. */
  tell(who: string, what: () => string): void {
    if (this.log === undefined) return
    this.log.push(`${(this.elapsedMs / 1_000).toFixed(3).padStart(9)}  ${who.padEnd(10)} ${what()}`)
  }

  /** A broken promise: ends the scenario. */
  fail(sentence: string): never {
    throw new Violation(`${sentence} [seed ${this.seed}, at ${(this.elapsedMs / 1_000).toFixed(3)} s]`)
  }

  private takeDue(untilMs: number, count: number): (() => void | Promise<void>) | undefined {
    if (count > maxEventsPerCall) this.fail(`${maxEventsPerCall} events and no end: the world turns in circles`)
    for (let next = this.agenda[0]; next !== undefined && next.atMs <= untilMs; next = this.agenda[0]) {
      pop(this.agenda)
      if (next.run === undefined) continue
      this.moveClock(next.atMs)
      this.step++
      return next.run
    }
    return undefined
  }
}

const comesBefore = (one: PlannedEvent, other: PlannedEvent): boolean =>
  one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)

function push(heap: PlannedEvent[], event: PlannedEvent): void {
  let at = heap.length
  while (at > 0) {
    const parentAt = (at - 1) >> 1
    const parent = heap[parentAt]
    if (parent === undefined || !comesBefore(event, parent)) break
    heap[at] = parent
    at = parentAt
  }
  heap[at] = event
}

function pop(heap: PlannedEvent[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let at = 0
  for (;;) {
    let childAt = at * 2 + 1
    const left = heap[childAt]
    const right = heap[childAt + 1]
    if (left === undefined) break
    if (right !== undefined && comesBefore(right, left)) childAt++
    const child = heap[childAt]
    if (child === undefined || !comesBefore(child, last)) break
    heap[at] = child
    at = childAt
  }
  heap[at] = last
}
