// Work for keys: one run at a time for each key, at most `maxRuns` at once, and another run after a failure.

import { Backoff } from './retry-backoff.ts'

export interface KeyedQueueOptions {
  /** Handles one key. Resolves with the time after which it is handled again; undefined: at the next change. */
  readonly handle: (key: string) => Promise<number | undefined>
  readonly onProblem: (key: string, error: unknown, retryInMs: number) => void
  readonly maxRuns: number
}

interface Entry {
  state: 'waiting' | 'queued' | 'running' | 'running-again'
  timer: NodeJS.Timeout | undefined
  readonly backoff: Backoff
}

const minBackoffMs = 1_000
const maxBackoffMs = 30_000

export class KeyedQueue {
  readonly #options: KeyedQueueOptions
  readonly #entries = new Map<string, Entry>()
  readonly #queue: string[] = []
  readonly #idle = new Set<() => void>()
  #runs = 0
  #isStopped = false

  constructor(options: KeyedQueueOptions) {
    this.#options = options
  }

  /** Keys that wait for a run or are handled now; not those that wait for a time. */
  get length(): number {
    return this.#queue.length + this.#runs
  }

  /** Handles the key soon; again afterwards, if it is handled now. */
  add(key: string): void {
    if (this.#isStopped) return
    const entry = this.#entries.get(key) ?? {
      state: 'waiting',
      timer: undefined,
      backoff: new Backoff(minBackoffMs, maxBackoffMs),
    }
    this.#entries.set(key, entry)
    clearTimeout(entry.timer)
    entry.timer = undefined
    if (entry.state === 'running') entry.state = 'running-again'
    if (entry.state !== 'waiting') return
    entry.state = 'queued'
    this.#queue.push(key)
    this.#start()
  }

  /** Begins no further run. Resolves when the runs of now have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const { timer } of this.#entries.values()) clearTimeout(timer)
    this.#queue.length = 0
    if (this.#runs > 0) await new Promise<void>((resolve) => this.#idle.add(resolve))
  }

  #start(): void {
    while (this.#runs < this.#options.maxRuns) {
      const key = this.#queue.shift()
      if (key === undefined) return
      this.#runs += 1
      void this.#run(key)
    }
  }

  async #run(key: string): Promise<void> {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    entry.state = 'running'
    let againMs: number | undefined
    try {
      againMs = await this.#options.handle(key)
      entry.backoff.recordSuccess()
    } catch (error) {
      againMs = entry.backoff.recordFailure()
      this.#options.onProblem(key, error, againMs)
    }
    this.#runs -= 1
    const isChanged = (entry.state as Entry['state']) === 'running-again'
    entry.state = 'waiting'
    if (isChanged) this.add(key)
    else if (againMs !== undefined && !this.#isStopped) entry.timer = setTimeout(() => this.add(key), againMs)
    else this.#entries.delete(key)
    if (this.#runs === 0) for (const resolve of this.#idle) resolve()
    this.#start()
  }
}
