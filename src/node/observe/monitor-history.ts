// The load of the broker in the last 24 hours: gauges, and counts per step. In memory and in a file, so that a restart leaves only a gap.
//
//   every 10 s   a point ──► last hour: 360 of 10 s        one line of the file, six at a time
//                      └───► last day: 1440 of 60 s        the file is rewritten every hour, without old points
//
// All values are in shared memory: no shard is queried.

import { appendFile, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CounterName, type Log, readCounters } from '../../telemetry/index.ts'
import { dataEntries } from '../data-dir/data-entries.ts'

/** A step of the history: gauges at its end, counts within it. */
export interface MonitorPoint {
  /** Wall clock, milliseconds since 1970. */
  readonly time_stamp: number
  readonly connections: number
  readonly sessions: number
  readonly topics: number
  readonly subscriptions: number
  readonly retained: number
  readonly received: number
  readonly sent: number
  readonly received_bytes: number
  readonly sent_bytes: number
  readonly dropped: number
}

export const fineStepMs = 10_000
export const coarseStepMs = 60_000
const maxFinePoints = 360
const maxCoarsePoints = 1_440
const dayMs = 86_400_000
/** Points written at a time, which a crash may lose. */
const pointsPerWrite = 6
/** Writes after which the file is rewritten. */
const writesPerFile = 60
const maxFileBytes = 4 * 1_024 * 1_024
const fileMode = 0o600
export const monitorFile = dataEntries.monitorHistory

export interface MonitorHistoryDependencies {
  readonly counters: SharedArrayBuffer
  /** Absolute. */
  readonly dataDirectory: string
  readonly log: Log
  /** Wall clock. */
  readonly nowMs?: () => number
}

type Counters = Readonly<Record<CounterName, number>>

export class MonitorHistory {
  readonly #options: MonitorHistoryDependencies
  readonly #nowMs: () => number
  readonly #path: string
  #fine: MonitorPoint[] = []
  #coarse: MonitorPoint[] = []
  #unwritten: MonitorPoint[] = []
  #writes = 0
  #writing: Promise<void> = Promise.resolve()
  #before: Counters
  #timer: NodeJS.Timeout | undefined = undefined

  constructor(options: MonitorHistoryDependencies) {
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => Date.now())
    this.#path = join(options.dataDirectory, monitorFile)
    this.#before = readCounters(options.counters)
  }

  /** Reads the stored points, and continues. */
  async start(): Promise<void> {
    await this.#read()
    this.#timer = setInterval(() => this.sample(), fineStepMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#flush()
    await this.#writing
  }

  /** Returns the last milliseconds, oldest first: steps of 10 s within the last hour, else of 60 s. */
  listLatest(ms: number): readonly MonitorPoint[] {
    const points = ms <= maxFinePoints * fineStepMs ? this.#fine : this.#coarse
    const from = this.#nowMs() - ms
    return points.filter(({ time_stamp: at }) => at > from)
  }

  /** Ends a step. */
  sample(): void {
    const now = readCounters(this.#options.counters)
    const point = toPoint(now, this.#before, this.#nowMs())
    this.#before = now
    this.#add(point)
    this.#unwritten.push(point)
    if (this.#unwritten.length >= pointsPerWrite) this.#flush()
  }

  #add(point: MonitorPoint): void {
    const last = this.#fine.at(-1)
    // The clock was set back: a history out of order would be wrong.
    if (last !== undefined && point.time_stamp <= last.time_stamp) this.#fine = []
    this.#fine.push(point)
    if (this.#fine.length > maxFinePoints) this.#fine.shift()
    this.#fold(point)
  }

  #fold(point: MonitorPoint): void {
    const minute = Math.floor(point.time_stamp / coarseStepMs) * coarseStepMs
    const last = this.#coarse.at(-1)
    if (last !== undefined && last.time_stamp === minute) {
      this.#coarse[this.#coarse.length - 1] = { ...sumPoints(last, point), time_stamp: minute }
      return
    }
    if (last !== undefined && minute < last.time_stamp) this.#coarse = []
    this.#coarse.push({ ...point, time_stamp: minute })
    if (this.#coarse.length > maxCoarsePoints) this.#coarse.shift()
  }

  #flush(): void {
    const points = this.#unwritten
    if (points.length === 0) return
    this.#unwritten = []
    this.#writes += 1
    const isNewFile = this.#writes % writesPerFile === 0
    this.#writing = this.#writing.then(() => (isNewFile ? this.#writeAnew() : this.#append(points)))
  }

  async #append(points: readonly MonitorPoint[]): Promise<void> {
    try {
      await appendFile(this.#path, formatLines(points), { mode: fileMode })
    } catch (error) {
      this.#warn(error)
    }
  }

  /** Minutes older than the 10-second points, then these. */
  async #writeAnew(): Promise<void> {
    const from = this.#fine[0]?.time_stamp ?? Number.POSITIVE_INFINITY
    const minutes = this.#coarse.filter(({ time_stamp: at }) => at + coarseStepMs <= from)
    try {
      await writeFile(`${this.#path}.new`, formatLines([...minutes, ...this.#fine]), { mode: fileMode })
      await rename(`${this.#path}.new`, this.#path)
    } catch (error) {
      this.#warn(error)
    }
  }

  /** The history is not essential: it continues in memory. */
  #warn(error: unknown): void {
    this.#options.log.warn('rate history not written', {
      file: this.#path,
      why: (error as Error).message,
      remedy: 'free space in the data directory',
    })
  }

  async #read(): Promise<void> {
    let text = ''
    try {
      text = await readFile(this.#path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#warn(error)
    }
    const now = this.#nowMs()
    for (const line of text.slice(-maxFileBytes).split('\n')) {
      const point = readPoint(line)
      if (point === undefined || point.time_stamp > now || point.time_stamp <= now - dayMs) continue
      if (point.time_stamp > now - maxFinePoints * fineStepMs) this.#add(point)
      else this.#fold(point)
    }
  }
}

function toPoint(now: Counters, before: Counters, atMs: number): MonitorPoint {
  const computeStep = (name: CounterName): number => Math.max(0, now[name] - before[name])
  return {
    time_stamp: atMs,
    connections: now.connectionsOpen,
    sessions: now.sessionsStored,
    topics: now.topicsStored,
    subscriptions: now.subscriptionsStored,
    retained: now.retainedOfClientsStored,
    received: computeStep('messagesReceived'),
    sent: computeStep('messagesSent'),
    received_bytes: computeStep('bytesReceived'),
    sent_bytes: computeStep('bytesSent'),
    dropped: computeStep('messagesDropped'),
  }
}

/** Gauges of the later one, sums of both counts. */
function sumPoints(earlier: MonitorPoint, later: MonitorPoint): MonitorPoint {
  return {
    ...later,
    received: earlier.received + later.received,
    sent: earlier.sent + later.sent,
    received_bytes: earlier.received_bytes + later.received_bytes,
    sent_bytes: earlier.sent_bytes + later.sent_bytes,
    dropped: earlier.dropped + later.dropped,
  }
}

const keys: readonly (keyof MonitorPoint)[] = [
  'time_stamp',
  'connections',
  'sessions',
  'topics',
  'subscriptions',
  'retained',
  'received',
  'sent',
  'received_bytes',
  'sent_bytes',
  'dropped',
]

function formatLines(points: readonly MonitorPoint[]): string {
  return points.map((point) => `${JSON.stringify(keys.map((key) => point[key]))}\n`).join('')
}

/** undefined: an incomplete or invalid line. */
function readPoint(line: string): MonitorPoint | undefined {
  try {
    const values: unknown = JSON.parse(line)
    if (!Array.isArray(values) || values.length !== keys.length) return undefined
    if (!values.every((value) => Number.isSafeInteger(value) && value >= 0)) return undefined
    return Object.fromEntries(keys.map((key, at) => [key, values[at]])) as unknown as MonitorPoint
  } catch {
    return undefined
  }
}
