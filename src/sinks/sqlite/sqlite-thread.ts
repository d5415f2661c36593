// A client for the thread that writes to an SQLite file. Actions of one shard with the same file share the thread. After a failure, the
// next request starts a new one.

import { Worker } from 'node:worker_threads'
import type { SqliteResponse, SqliteRequest, SqliteStart } from './sqlite-messages.ts'

type RequestWithId = Extract<SqliteRequest, { id: number }>
/** A request without its ID, which `run` adds. */
export type SqliteWork = RequestWithId extends infer Request
  ? Request extends RequestWithId
    ? Omit<Request, 'id'>
    : never
  : never

interface PendingRequest {
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
  readonly #pending = new Map<number, PendingRequest>()
  #lastId = 0

  constructor(start: SqliteStart) {
    this.#start = start
  }

  get path(): string {
    return this.#start.path
  }

  /** Requests are executed one after the other. Rejects if the thread fails. */
  run(work: SqliteWork): Promise<SqliteResponse> {
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<SqliteResponse>()
    this.#pending.set(id, { resolve, reject })
    this.#thread().postMessage({ ...work, id })
    return promise
  }

  /** Closes the file after all earlier requests are done. */
  close(): void {
    this.#worker?.postMessage({ kind: 'close' } satisfies SqliteRequest)
  }

  #thread(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(entry, {
      name: 'sqlite',
      workerData: this.#start,
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    })
    let why = `the SQLite thread of ${this.path} has ended; the next request starts it again`
    worker.on('message', (response: SqliteResponse) => {
      this.#pending.get(response.id)?.resolve(response)
      this.#pending.delete(response.id)
    })
    worker.on('error', (error) => (why = error instanceof Error ? error.message : String(error)))
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
      for (const waiting of this.#pending.values()) waiting.reject(new Error(why))
      this.#pending.clear()
    })
    // The thread does not keep the process alive.
    worker.unref()
    this.#worker = worker
    return worker
  }
}
