// The base of the simulated world: a clock that jumps, planned events, the random generator, and the log.
//
//   at 12:00:00.003  [event, event]      Nothing happens between two events, so the clock goes straight to the next.
//   at 12:00:09.500  [event]             Events at the same time run in the order in which they were planned.

import { Random } from './random.ts'

/** A violated rule: by the broker, or by a client that should follow the protocol. The sentence says which rule, when, and the seed. */
export class Violation extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Violation'
  }
}

/** Returns the sentence for an error that ended a scenario: a violation, or an assertion of the broker. */
export function faultOf(error: unknown, seed: number): string {
  if (error instanceof Violation) return error.message
  return `the broker or the simulator failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)} [seed ${seed}]`
}

export interface PlannedEvent {
  readonly atMs: number
  readonly order: number
  run: (() => void | Promise<void>) | undefined
}

/** Maximum number of events within one call: with more, the events cause each other without an end. */
const maxEventsPerCall = 2_000_000

/** 2026-01-01T00:00:00Z */
export const worldBeginsAtMs = 1_767_225_600_000

export class Stage {
  readonly seed: number
  readonly random: Random
  nowMs: number
  /** Counts events: distinguishes events in the same millisecond. */
  step: number
  /** Undefined if the scenario is not recorded: recording takes more time than running. */
  readonly log: string[] | undefined
  /** Called before each jump of the clock, with its length. */
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

  /** Runs all events up to `untilMs` and moves the clock to that time. */
  pass(untilMs: number): void {
    for (let count = 0; ; count++) {
      const run = this.takeDue(untilMs, count)
      if (run === undefined) break
      if (run() !== undefined || this.hasPromises)
        throw new Error('something in this world takes real time: use passAsync')
    }
    this.moveClock(Math.max(this.nowMs, untilMs))
  }

  /** Code with promises was called, or a promise of it has settled: it must continue before the next event. */
  notePromises(): void {
    this.hasPromises = true
  }

  /** The same with a real store, whose events may take real time, but no simulated time. */
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

  /** Called only if promises are pending: the test runner tracks each promise, which takes more time than most events. */
  private async settlePromises(): Promise<void> {
    this.hasPromises = false
    // Promises that wait only for each other have settled when this callback runs.
    await new Promise<void>((resolve) => setImmediate(resolve))
  }

  private moveClock(nowMs: number): void {
    const ms = nowMs - this.nowMs
    this.nowMs = nowMs
    if (ms > 0) this.whenClockMoves(ms)
  }

  /** Adds one line to the log. `what` is called only if the scenario is recorded. */
  record(actor: string, what: () => string): void {
    if (this.log === undefined) return
    this.log.push(`${(this.elapsedMs / 1_000).toFixed(3).padStart(9)}  ${actor.padEnd(10)} ${what()}`)
  }

  /** Ends the scenario, because a rule was violated. */
  fail(sentence: string): never {
    throw new Violation(`${sentence} [seed ${this.seed}, at ${(this.elapsedMs / 1_000).toFixed(3)} s]`)
  }

  private takeDue(untilMs: number, count: number): (() => void | Promise<void>) | undefined {
    if (count > maxEventsPerCall) this.fail(`${maxEventsPerCall} events in one call: they do not end`)
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
