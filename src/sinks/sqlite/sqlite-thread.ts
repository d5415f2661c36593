// A client for the thread that writes to an SQLite file. Actions of one shard with the same file share the thread. After a failure, the
// next request starts a new one. A request has a time limit. While one is late, because the disk does not respond, later requests fail at once: they
// would wait in the thread, and be written although they were reported as failed.

import { Worker } from 'node:worker_threads'
import type { SqliteReady, SqliteResponse, SqliteRequest, SqliteStart } from './sqlite-messages.ts'

type RequestWithId = Extract<SqliteRequest, { id: number }>
/** A request without its ID, which `run` adds. */
export type SqliteWork = RequestWithId extends infer Request
  ? Request extends RequestWithId
    ? Omit<Request, 'id'>
    : never
  : never

interface PendingRequest {
  /** Undefined: the thread is starting. */
  timer: NodeJS.Timeout | undefined
  resolve(response: SqliteResponse): void
  reject(error: Error): void
}

interface SharedThread {
  readonly thread: SqliteThread
  users: number
}

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
const entry = new URL(`./sqlite-worker.${extension}`, import.meta.url)
const maxHeapMb = 64

const threads = new Map<string, SharedThread>()

/** Returns a thread, which the caller must release. */
export function acquireThread(start: SqliteStart): SqliteThread {
  const known = threads.get(start.path)
  if (known !== undefined) {
    known.users++
    return known.thread
  }
  const thread = new SqliteThread(start)
  threads.set(start.path, { thread, users: 1 })
  return thread
}

export function releaseThread({ path }: SqliteThread): void {
  const shared = threads.get(path)
  if (shared === undefined || --shared.users > 0) return
  threads.delete(path)
  shared.thread.close()
}

export class SqliteThread {
  readonly #start: SqliteStart
  #worker: Worker | undefined
  #isReady = false
  readonly #pending = new Map<number, PendingRequest>()
  /** Requests that were reported as failed, and to which the thread has not responded. */
  readonly #late = new Set<number>()
  #lastId = 0

  constructor(start: SqliteStart) {
    this.#start = start
  }

  get path(): string {
    return this.#start.path
  }

  /** Requests are executed one after the other. Rejects if the thread fails, or does not respond in time. */
  run(work: SqliteWork): Promise<SqliteResponse> {
    if (this.#late.size > 0) return Promise.reject(this.#createLateError())
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<SqliteResponse>()
    const request = { timer: undefined, resolve, reject }
    this.#pending.set(id, request)
    this.#ensureThread().postMessage({ ...work, id })
    if (this.#isReady) this.#limitTime(id, request)
    return promise
  }

  #limitTime(id: number, request: PendingRequest): void {
    request.timer = setTimeout(() => {
      this.#pending.delete(id)
      this.#late.add(id)
      request.reject(this.#createLateError())
    }, this.#start.timeoutMs)
  }

  /** The start of a thread takes long on a busy machine, and is no fault of the disk. */
  #handleReady(): void {
    this.#isReady = true
    for (const [id, request] of this.#pending) this.#limitTime(id, request)
  }

  /** Closes the file after all earlier requests are done. */
  close(): void {
    this.#worker?.postMessage({ kind: 'close' } satisfies SqliteRequest)
  }

  #ensureThread(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(entry, {
      name: 'sqlite',
      workerData: this.#start,
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    })
    let why = `the SQLite thread of ${this.path} has ended; the next request starts it again`
    worker.on('message', (response: SqliteResponse | SqliteReady) => {
      if (response === 'ready') return this.#handleReady()
      const pending = this.#pending.get(response.id)
      clearTimeout(pending?.timer)
      pending?.resolve(response)
      this.#pending.delete(response.id)
      this.#late.delete(response.id)
    })
    worker.on('error', (error) => (why = error instanceof Error ? error.message : String(error)))
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
      this.#isReady = false
      for (const waiting of this.#pending.values()) {
        clearTimeout(waiting.timer)
        waiting.reject(new Error(why))
      }
      this.#pending.clear()
      this.#late.clear()
    })
    // The thread does not keep the process alive.
    worker.unref()
    this.#worker = worker
    return worker
  }
  #createLateError(): Error {
    const { path, timeoutMs } = this.#start
    return new Error(`${path}: the disk has not responded within ${timeoutMs} ms`)
  }
}
