// A PostgreSQL with a synchronous standby, as far as the membership and the commits of homes see it.
//
// A statement locks one part of the rows, is executed, and holds the lock until the standby has it. Then its effect is visible and the client
// receives the confirmation. A cancelled wait and a restart of the server show effects that the standby does not have. A promoted
// standby continues with what it has, as a server with a greater timeline, while the former server may live on.

import type { SimulatedTime } from './simulated-time.ts'

export interface Execution {
  readonly value: unknown
  readonly result: unknown
}

export interface Request {
  /** The part of the rows that the statement locks. */
  readonly part: string
  execute(value: unknown, databaseMs: number): Execution
  /** Undefined: the outcome is unknown. */
  respond(result: unknown): void
}

interface Entry {
  readonly part: string
  readonly value: unknown
}

interface Waiting {
  readonly position: number
  readonly entry: Entry
  readonly request: Request
  readonly result: unknown
}

export class SimulatedServer {
  readonly number: number
  readonly timeline: number
  isUp = true
  /** Grows with each stop, which ends all connections. */
  runs = 1
  /** The standby has the log up to this position; undefined: there is no standby, and no commit is confirmed. */
  replicated: number | undefined
  isStandbyStalled = false
  /** The clock of this server minus the true time. */
  clockOffsetMs = 0
  readonly log: Entry[]
  readonly #time: SimulatedTime
  readonly #visible = new Map<string, unknown>()
  readonly #queues = new Map<string, Request[]>()
  readonly #waiting = new Map<string, Waiting>()
  readonly #delayMs: () => number
  #isReplicating = false

  constructor(
    options: { number: number; timeline: number; log: readonly Entry[]; delayMs: () => number },
    time: SimulatedTime,
  ) {
    this.number = options.number
    this.timeline = options.timeline
    this.log = [...options.log]
    this.#delayMs = options.delayMs
    this.#time = time
    for (const { part, value } of this.log) this.#visible.set(part, value)
  }

  get databaseMs(): number {
    return this.#time.nowMs + this.clockOffsetMs
  }

  get isConfirming(): boolean {
    return this.isUp && this.replicated !== undefined && !this.isStandbyStalled
  }

  read(part: string): unknown {
    return this.#visible.get(part)
  }

  /** A statement has arrived. */
  run(request: Request): void {
    if (!this.isUp) return request.respond(undefined)
    const queue = this.#queues.get(request.part) ?? []
    this.#queues.set(request.part, queue)
    queue.push(request)
    this.#advance(request.part)
  }

  /** Whether the request waits for a lock or for the standby. */
  isWorkingOn(request: Request): boolean {
    if (!this.isUp) return false
    const isQueued = this.#queues.get(request.part)?.includes(request) === true
    return isQueued || this.#waiting.get(request.part)?.request === request
  }

  /** As pg_cancel_backend: effects become visible before the standby has them, and the clients receive a warning. */
  cancelWaits(isConfirmed: boolean): void {
    for (const [part, waiting] of Array.from(this.#waiting)) {
      this.#show(part, waiting)
      waiting.request.respond(isConfirmed ? waiting.result : undefined)
      this.#advance(part)
    }
  }

  stop(): void {
    this.isUp = false
    this.runs++
    for (const [part, waiting] of Array.from(this.#waiting)) {
      this.#show(part, waiting)
      waiting.request.respond(undefined)
    }
    for (const queue of this.#queues.values()) for (const request of queue.splice(0)) request.respond(undefined)
  }

  start(): void {
    this.isUp = true
    this.replicate()
  }

  /** A standby that has everything that is visible. */
  attachStandby(): void {
    this.replicated ??= Math.min(this.log.length, ...[...this.#waiting.values()].map(({ position }) => position - 1))
    this.isStandbyStalled = false
    this.replicate()
  }

  /** Sends the log to the standby, one entry after the other. */
  replicate(): void {
    if (this.#isReplicating || !this.isConfirming || this.replicated! >= this.log.length) return
    this.#isReplicating = true
    this.#time.after(this.#delayMs(), () => {
      this.#isReplicating = false
      if (!this.isConfirming) return
      this.replicated!++
      for (const [part, waiting] of Array.from(this.#waiting)) {
        if (waiting.position > this.replicated!) continue
        this.#show(part, waiting)
        waiting.request.respond(waiting.result)
        this.#advance(part)
      }
      this.replicate()
    })
  }

  #advance(part: string): void {
    if (!this.isUp || this.#waiting.has(part)) return
    const request = this.#queues.get(part)?.shift()
    if (request === undefined) return
    const { value, result } = request.execute(this.#visible.get(part), this.databaseMs)
    const entry = { part, value }
    this.log.push(entry)
    this.#waiting.set(part, { position: this.log.length, entry, request, result })
    this.replicate()
  }

  #show(part: string, { entry }: Waiting): void {
    this.#visible.set(part, entry.value)
    this.#waiting.delete(part)
  }
}

export class SimulatedDatabase {
  readonly servers: SimulatedServer[]
  /** The client takes a cancelled wait for a confirmation. */
  confirmsCancelled = false
  readonly #time: SimulatedTime
  readonly #delayMs: () => number
  readonly #parts: number
  /** Since then, commits were confirmed without interruption. */
  #availableMs: number | undefined = 0
  /** Duration of the last time in which no commit was confirmed. */
  lastOutageMs = 0
  /** Its beginning. */
  outageMs = 0

  constructor(parts: ReadonlyMap<string, unknown>, time: SimulatedTime, delayMs: () => number) {
    this.#time = time
    this.#delayMs = delayMs
    this.#parts = parts.size
    const log = [...parts].map(([part, value]) => ({ part, value }))
    this.servers = [new SimulatedServer({ number: 0, timeline: 1, log, delayMs }, time)]
    this.primary.replicated = log.length
  }

  /** The server with the greatest timeline. */
  get primary(): SimulatedServer {
    return this.servers.at(-1)!
  }

  /** Undefined while no commit is confirmed. */
  get availableMs(): number | undefined {
    return this.#availableMs
  }

  /** After each change of the servers. */
  checkAvailability(): void {
    if (this.primary.isConfirming && this.#availableMs === undefined) {
      this.#availableMs = this.#time.nowMs
      this.lastOutageMs = this.#time.nowMs - this.outageMs
    }
    if (this.primary.isConfirming || this.#availableMs === undefined) return
    this.#availableMs = undefined
    this.outageMs = this.#time.nowMs
  }

  /** The standby takes over with its log, without the last `missing` entries. It has no standby itself yet. */
  promote(missing: number): SimulatedServer {
    const former = this.primary
    const position = former.replicated ?? former.log.length
    const log = former.log.slice(0, Math.max(this.#parts, position - missing))
    former.replicated = undefined
    const number = this.servers.length
    const server = new SimulatedServer({ number, timeline: number + 1, log, delayMs: this.#delayMs }, this.#time)
    this.servers.push(server)
    this.checkAvailability()
    return server
  }

  cancelWaits(): void {
    this.primary.cancelWaits(this.confirmsCancelled)
  }

  attachStandby(): void {
    this.primary.attachStandby()
    this.checkAvailability()
  }
}
