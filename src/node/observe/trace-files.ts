// Writes traces of selected clients to files, for a limited time: `<data directory>/trace/<name>.jsonl`. The number,
// duration and size of traces are limited. The first line of a file describes its trace: after a restart the trace is listed, but not
// continued.

import { createWriteStream, type WriteStream } from 'node:fs'
import { mkdir, open, readdir, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { TraceLine, TraceTarget } from '../../shard/index.ts'
import { escapeUnsafe, type Log } from '../../telemetry/index.ts'
import { dataEntries } from '../data-dir/data-entries.ts'

export interface TraceRecord {
  /** Undefined: all clients. */
  readonly namespace?: string | undefined
  readonly name: string
  readonly type: 'clientid' | 'topic' | 'ip_address'
  readonly value: string
  readonly isRunning: boolean
  /** Wall clock. */
  readonly startedAtMs: number
  readonly endsAtMs: number
  readonly bytes: number
}

export interface NewTrace {
  /** Undefined: all clients. */
  readonly namespace?: string | undefined
  /** A valid file name. */
  readonly name: string
  readonly type: 'clientid' | 'topic' | 'ip_address'
  /** Client id, filter or address. */
  readonly value: string
  readonly durationMs: number
}

const maxTraces = 30
const maxTraceBytes = 16 * 1_024 * 1_024
/** Maximum bytes waiting for a slow disk; further lines are dropped. */
const maxPendingBytes = 1_024 * 1_024
/** Maximum size of the first line: the value may have 65,535 characters, each of which may be escaped. */
const maxFirstLineBytes = 512 * 1_024
const extension = '.jsonl'
const fileMode = 0o600

export interface TracesOptions {
  /** Absolute. */
  readonly dataDirectory: string
  readonly log: Log
  /** Sends the running traces to the shards. Resolves when every shard uses exactly these. */
  sendToShards(targets: readonly TraceTarget[]): Promise<unknown>
}

interface StoredTrace extends Omit<TraceRecord, 'isRunning'> {
  bytes: number
  endsAtMs: number
  /** Undefined: the trace has ended. */
  stream: WriteStream | undefined
  timer: NodeJS.Timeout | undefined
}

export class Traces {
  readonly #options: TracesOptions
  readonly #directory: string
  readonly #traces = new Map<string, StoredTrace>()

  constructor(options: TracesOptions) {
    this.#options = options
    this.#directory = join(options.dataDirectory, dataEntries.trace)
  }

  /** Finds traces from before a restart. Unreadable ones do not prevent a start. */
  async open(): Promise<void> {
    try {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 })
      const files = await readdir(this.#directory)
      for (const file of files.filter((name) => name.endsWith(extension))) await this.#find(file)
    } catch (error) {
      this.#options.log.error('trace directory not readable', { why: (error as Error).message })
    }
  }

  async #find(file: string): Promise<void> {
    try {
      const found = parseTrace(file.slice(0, -extension.length), await readBeginning(join(this.#directory, file)))
      if (found !== undefined) this.#traces.set(found.name, found)
    } catch (error) {
      this.#options.log.warn('trace file not readable', { file, why: (error as Error).message })
    }
  }

  list(): TraceRecord[] {
    return [...this.#traces.values()].map(({ name, namespace, type, value, startedAtMs, endsAtMs, bytes, stream }) => ({
      name,
      namespace,
      type,
      value,
      startedAtMs,
      endsAtMs,
      bytes,
      isRunning: stream !== undefined,
    }))
  }

  async create({ name, namespace, type, value, durationMs }: NewTrace): Promise<'taken' | 'too-many' | undefined> {
    if (this.#traces.has(name)) return 'taken'
    if (this.#traces.size >= maxTraces) return 'too-many'
    const startedAtMs = Date.now()
    const stream = createWriteStream(this.#resolvePath(name), { flags: 'w', mode: fileMode })
    const timer = setTimeout(() => void this.#end(name), durationMs).unref()
    const endsAtMs = startedAtMs + durationMs
    const what = { name, namespace, type, value, startedAtMs, endsAtMs }
    const trace: StoredTrace = { ...what, bytes: 0, stream, timer }
    stream.on('error', (error) => {
      this.#options.log.error('trace not written and stopped', { trace: name, error: error.message })
      trace.stream = undefined
      void this.#end(name)
    })
    this.#traces.set(name, trace)
    this.writeLine(name, { trace: name, namespace, type, value, startedAtMs, endsAtMs })
    await this.#sendTargets()
    return undefined
  }

  /** Writes a line to the trace of that name, if it still runs. */
  writeLine(name: string, line: TraceLine): void {
    const trace = this.#traces.get(name)
    if (trace?.stream === undefined || trace.stream.writableLength > maxPendingBytes) return
    const text = `${escapeUnsafe(JSON.stringify(line))}\n`
    const bytes = Buffer.byteLength(text)
    if (trace.bytes + bytes > maxTraceBytes) {
      this.#options.log.warn('trace size limit reached', { trace: name, bytes: trace.bytes })
      return void this.#end(name)
    }
    trace.bytes += bytes
    trace.stream.write(text)
  }

  async stop(name: string): Promise<boolean> {
    if (!this.#traces.has(name)) return false
    await this.#end(name)
    return true
  }

  async remove(name: string): Promise<boolean> {
    if (!this.#traces.has(name)) return false
    await this.#end(name)
    this.#traces.delete(name)
    await unlink(this.#resolvePath(name)).catch((error: NodeJS.ErrnoException) => {
      // A file that does not exist need not be deleted.
      if (error.code !== 'ENOENT') throw error
    })
    return true
  }

  async read(name: string): Promise<string | undefined> {
    const trace = this.#traces.get(name)
    if (trace === undefined) return undefined
    const { stream } = trace
    // All earlier lines are in the file when this callback runs.
    if (stream !== undefined) await new Promise((resolve) => stream.write('', resolve))
    return readFile(this.#resolvePath(name), 'utf8')
  }

  /** The node stops: files are closed and remain. */
  async close(): Promise<void> {
    for (const trace of this.#traces.values()) await closeTrace(trace)
  }

  async #end(name: string): Promise<void> {
    const trace = this.#traces.get(name)
    if (trace === undefined) return
    const isEarly = Date.now() < trace.endsAtMs && trace.stream !== undefined
    if (isEarly) trace.endsAtMs = Date.now()
    await closeTrace(trace)
    await this.#sendTargets()
  }

  async #sendTargets(): Promise<void> {
    const running = [...this.#traces.values()].filter(({ stream }) => stream !== undefined)
    await this.#options.sendToShards(
      running.map(({ name, namespace, type, value }) => ({ name, namespace, type, value })),
    )
  }

  #resolvePath(name: string): string {
    return join(this.#directory, `${name}${extension}`)
  }
}

async function closeTrace(trace: StoredTrace): Promise<void> {
  clearTimeout(trace.timer)
  const { stream } = trace
  trace.stream = undefined
  if (stream !== undefined) await new Promise<void>((resolve) => stream.end(() => resolve()))
}

/** Returns the maximum size of a first line, and the size of the file. */
async function readBeginning(path: string): Promise<{ readonly text: string; readonly bytes: number }> {
  await using file = await open(path)
  const { size } = await file.stat()
  const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, maxFirstLineBytes)), { position: 0 })
  return { text: buffer.toString('utf8', 0, bytesRead), bytes: size }
}

/** Returns the trace that the first line of a file describes; undefined: the file is not a trace. */
function parseTrace(name: string, { text, bytes }: { text: string; bytes: number }): StoredTrace | undefined {
  try {
    const { namespace, type, value, startedAtMs, endsAtMs } = JSON.parse(
      text.slice(0, text.indexOf('\n')),
    ) as NewTrace & TraceRecord
    if (![type, value].every((part) => typeof part === 'string')) return undefined
    return { name, namespace, type, value, startedAtMs, endsAtMs, bytes, stream: undefined, timer: undefined }
  } catch {
    return undefined
  }
}
