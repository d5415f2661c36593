// The audit log on disk: one line of JSON for each entry, in two files of which the older one is deleted when the newer one is full.
//
//   <data dir>/audit/audit.jsonl         up to half of the maximum
//   <data dir>/audit/audit.old.jsonl     the half before it
//
// Entries that arrive during a write are written together afterwards.

import { createReadStream, createWriteStream } from 'node:fs'
import { type FileHandle, mkdir, open, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { AuditEntry, AuditTrail, PageFound, PageWanted } from '../../management/index.ts'
import type { Log } from '../../telemetry/index.ts'
import type { ConfigOutcome, ConfigManager } from '../configuration/config-manager.ts'
import { dataEntries } from '../data-dir/data-entries.ts'

/** Conditions for entries. Absent ones match all. */
export interface AuditQuery {
  readonly name?: string | undefined
  readonly operation?: string | undefined
  readonly outcome?: string | undefined
  readonly via?: string | undefined
  readonly address?: string | undefined
  readonly namespace?: string | undefined
  /** Wall clock, both inclusive. */
  readonly sinceMs?: number | undefined
  readonly untilMs?: number | undefined
}

export interface AuditLog extends AuditTrail {
  /** Maximum bytes on disk; the oldest entries are deleted first. */
  readonly maxBytes: number
  /** Newest first. */
  list(query: AuditQuery, page: PageWanted): Promise<PageFound<AuditEntry>>
  /** audit.max_size, of both files together. */
  changeSize(maxBytes: number): Promise<void>
  /** All entries are durable. */
  close(): Promise<void>
}

/** Opens the file only at the first entry. `maxBytes`: the maximum of both files together. */
export function openAuditLog(dataDirectory: string, log: Log, maxBytes: number): AuditLog {
  const file = new AuditFile(join(dataDirectory, dataEntries.audit), maxBytes / 2)
  const writer = new AuditWriter(file, log)
  return {
    get maxBytes() {
      return file.maxBytes * 2
    },
    changeSize: (changed) => {
      file.maxBytes = changed / 2
      return writer.shorten()
    },
    record: (entry) => writer.append(`${JSON.stringify(entry)}\n`),
    list: async (query, { page, limit }) => {
      const lines = await file.readLines(query)
      const last = lines.length - (page - 1) * limit
      const chosen = lines.slice(Math.max(0, last - limit), Math.max(0, last)).toReversed()
      return { items: chosen.map((line) => JSON.parse(line) as AuditEntry), count: lines.length }
    },
    close: () => writer.close(),
  }
}

/** Collects entries during a write. */
class AuditWriter {
  readonly #file: AuditFile
  readonly #log: Log
  #waiting: string[] = []
  #writing: Promise<void> | undefined
  #isClosed = false

  constructor(file: AuditFile, log: Log) {
    this.#file = file
    this.#log = log
  }

  async append(line: string): Promise<void> {
    if (this.#isClosed) return
    this.#waiting.push(line)
    // The current write does not contain this line; the next one does.
    await this.#writing
    this.#writing ??= this.#write()
    await this.#writing
  }

  /** Deletes what exceeds the maximum now. */
  async shorten(): Promise<void> {
    await this.#writing
    this.#writing ??= this.#runWhileWriting(() => this.#file.shorten())
    await this.#writing
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#writing
    await this.#file.close()
  }

  #write(): Promise<void> {
    const lines = this.#waiting.splice(0)
    return this.#runWhileWriting(async () => {
      if (lines.length > 0) await this.#file.append(Buffer.from(lines.join('')))
    }, lines.length)
  }

  async #runWhileWriting(work: () => Promise<void>, lines = 0): Promise<void> {
    try {
      await work()
    } catch (error) {
      const why = (error as Error).message
      this.#log.error('audit log not written', { why, lines })
    } finally {
      this.#writing = undefined
    }
  }
}

class AuditFile {
  /** Maximum bytes of each of the two files. */
  maxBytes: number
  readonly #folder: string
  readonly #path: string
  readonly #oldPath: string
  #handle: FileHandle | undefined
  #bytes = 0

  constructor(folder: string, maxBytes: number) {
    this.#folder = folder
    this.#path = join(folder, 'audit.jsonl')
    this.#oldPath = join(folder, 'audit.old.jsonl')
    this.maxBytes = maxBytes
  }

  async append(lines: Buffer): Promise<void> {
    let handle = (this.#handle ??= await this.#open())
    if (this.#bytes + lines.length > this.maxBytes && this.#bytes > 0) {
      await this.close()
      await rename(this.#path, this.#oldPath)
      handle = this.#handle = await this.#open()
    }
    await handle.appendFile(lines)
    await handle.datasync()
    this.#bytes += lines.length
  }

  async #open(): Promise<FileHandle> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const handle = await open(this.#path, 'a', 0o600)
    const { size } = await handle.stat()
    // A crash may have left an incomplete line.
    if (size > 0) await handle.appendFile('\n')
    this.#bytes = size + Math.min(size, 1)
    return handle
  }

  /** After the maximum was reduced, only the end of a larger file is kept. */
  async shorten(): Promise<void> {
    await this.close()
    for (const path of [this.#oldPath, this.#path]) {
      const { size } = await stat(path).catch(() => ({ size: 0 }))
      if (size <= this.maxBytes) continue
      const shorter = `${path}.shorter`
      const end = createReadStream(path, { start: size - this.maxBytes })
      // It may start within a line, which is not a valid entry.
      await pipeline(end, createWriteStream(shorter, { mode: 0o600, flush: true }))
      await rename(shorter, path)
    }
  }

  /** Oldest first. Their size is within the maximum. */
  async readLines(query: AuditQuery): Promise<string[]> {
    const found: string[] = []
    for (const path of [this.#oldPath, this.#path]) {
      const handle = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
        return undefined
      })
      if (handle === undefined) continue
      for await (const line of handle.readLines()) if (matchesQuery(line, query)) found.push(line)
    }
    return found
  }

  async close(): Promise<void> {
    await this.#handle?.close()
    this.#handle = undefined
  }
}

function matchesQuery(line: string, query: AuditQuery): boolean {
  if (line === '') return false
  let entry: AuditEntry
  try {
    entry = JSON.parse(line) as AuditEntry
  } catch {
    // An incomplete line of a crash.
    return false
  }
  const { sinceMs = -Infinity, untilMs = Infinity, ...same } = query
  if (entry.atMs < sinceMs || entry.atMs > untilMs) return false
  return Object.entries(same).every(
    ([key, wanted]) => wanted === undefined || entry[key as keyof AuditEntry] === wanted,
  )
}

const reloadTriggers = {
  signal: { author: { name: '', by: 'signal', address: '' }, method: 'SIGHUP' },
  file: { author: { name: '', by: 'file', address: '' }, method: '' },
} as const

/** Logs SIGHUP, or a change of the files, like a request of the API. */
export async function reloadWithAudit(
  configuration: Pick<ConfigManager, 'reload'>,
  audit: AuditTrail,
  trigger: keyof typeof reloadTriggers,
): Promise<ConfigOutcome> {
  const atMs = Date.now()
  const { author, method } = reloadTriggers[trigger]
  const outcome = await configuration.reload(author)
  const same = { role: 'administrator', namespace: null, via: trigger, operation: 'reload_configuration' } as const
  const requestFields = { method, path: '', request: null, status: 0, code: 0 }
  const fate = outcome.isDone
    ? ({ outcome: 'done', message: '' } as const)
    : ({ outcome: 'refused', message: outcome.message } as const)
  await audit.record({ atMs, ...author, ...same, ...requestFields, ...fate, tookMs: Date.now() - atMs })
  return outcome
}
