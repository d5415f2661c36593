// A file of lines. A line counts as written when it is synced to disk. The file is rotated by size:
//
//   readings.jsonl  ->  readings.jsonl.1  ->  readings.jsonl.2  -> ... -> readings.jsonl.<maxFiles - 1>  ->  deleted
//
// Lines that arrive during a write are written together afterwards, with one sync for all of them. After an error the file is
// opened again; an incomplete line after an error or a crash is removed, as it was not confirmed.

import { constants, type Stats } from 'node:fs'
import { access, lstat, open, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeDirectory } from '../../telemetry/index.ts'

export interface FileLimits {
  /** Maximum size of a file. A longer line is written to an empty file. */
  readonly maxFileBytes: number
  /** Maximum number of files, the current one included. At least 1. */
  readonly maxFiles: number
}

export interface AppendOptions extends FileLimits {
  /** First line of each file; '': none. */
  readonly header: string
  readonly timeoutMs: number
}

/** Reason why a line is not durable; undefined: the line is durable. */
export type AppendProblem = string | undefined

interface Item {
  readonly line: Buffer
  readonly options: AppendOptions
  /** The result of the line was reported. */
  isSettled: boolean
  settle(problem: AppendProblem): void
}

interface OpenFile {
  readonly handle: FileHandle
  readonly identity: string
  bytes: number
}

/** Lines contain client IDs and payloads: only the owner can read them. */
const fileMode = 0o600
const newline = 0x0a
const lineEnd = Buffer.from('\n')
/** Maximum bytes of one write; a longer line is written alone. */
const maxChunkBytes = 1_048_576
const searchBytes = 65_536
const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW

export class LineFile {
  readonly path: string
  #queue: Item[] = []
  #isRunning = false
  #noteClosed: (() => void) | undefined
  #file: OpenFile | undefined

  /** `path` is absolute. */
  constructor(path: string) {
    this.path = path
  }

  /** Appends `lines`, which have no line ends. Returns one result per line. Without lines it opens the file, and returns one result. Never rejects. */
  append(lines: readonly Buffer[], options: AppendOptions): Promise<readonly AppendProblem[]> {
    const items: Item[] = []
    const wanted = lines.length === 0 ? [Buffer.alloc(0)] : lines.map((line) => Buffer.concat([line, lineEnd]))
    const results = wanted.map(
      (line) =>
        new Promise<AppendProblem>((resolve) => {
          const item: Item = {
            line,
            options,
            isSettled: false,
            settle: (problem) => {
              item.isSettled = true
              resolve(problem)
            },
          }
          items.push(item)
        }),
    )
    const timer = setTimeout(() => {
      for (const item of items)
        item.settle(`${this.path}: the disk did not complete the write within ${options.timeoutMs} ms`)
    }, options.timeoutMs)
    this.#queue.push(...items)
    this.#run()
    return Promise.all(results).finally(() => clearTimeout(timer))
  }

  /** Closes the file after the queued lines are written, unless it is used again before. */
  close(noteClosed: () => void = () => {}): void {
    this.#noteClosed = noteClosed
    this.#run()
  }

  /** Cancels `close`. */
  useAgain(): void {
    this.#noteClosed = undefined
  }

  #run(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#writeQueued()
  }

  async #writeQueued(): Promise<void> {
    for (;;) {
      this.#queue = this.#queue.filter(({ isSettled }) => !isSettled)
      const [first] = this.#queue
      if (first === undefined) break
      let chunk: readonly Item[] = [first]
      try {
        const file = await this.#ensureFileFor(first)
        chunk = this.#takeChunk(file, first.options)
        await write(file, chunk)
        for (const item of chunk) item.settle(undefined)
      } catch (error) {
        for (const item of chunk) item.settle(formatFileError(error, this.path))
        await this.#closeFile()
      }
    }
    this.#isRunning = false
    if (this.#noteClosed === undefined) return
    this.#noteClosed()
    await this.#closeFile()
  }

  /** Returns an open file with space for the line, or an empty one. */
  async #ensureFileFor({ line, options }: Item): Promise<OpenFile> {
    if (this.#file !== undefined && !(await isStillAt(this.#file, this.path))) await this.#closeFile()
    this.#file ??= await openFile(this.path, options)
    if (this.#file.bytes > 0 && this.#file.bytes + line.length > options.maxFileBytes) {
      await this.#closeFile()
      await rotate(this.path, options.maxFiles)
      this.#file = await openFile(this.path, options)
    }
    return this.#file
  }

  #takeChunk({ bytes }: OpenFile, { maxFileBytes }: AppendOptions): readonly Item[] {
    const space = Math.min(maxChunkBytes, maxFileBytes - bytes)
    let taken = 0
    let count = 0
    for (const { line } of this.#queue) {
      if (count > 0 && taken + line.length > space) break
      taken += line.length
      count++
    }
    return this.#queue.splice(0, count).filter(({ isSettled }) => !isSettled)
  }

  async #closeFile(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    // Lines that count as written were synced before, so an error of closing does not matter.
    await file?.handle.close().catch(() => {})
  }
}

async function write(file: OpenFile, chunk: readonly Item[]): Promise<void> {
  const bytes = Buffer.concat(chunk.map(({ line }) => line))
  if (bytes.length === 0) return
  await file.handle.appendFile(bytes)
  await file.handle.datasync()
  file.bytes += bytes.length
}

/** Other programs may move or delete the file: lines are written to the file that has the name. */
async function isStillAt({ identity }: OpenFile, path: string): Promise<boolean> {
  const there = await stat(path).catch(() => undefined)
  return there !== undefined && toFileIdentity(there) === identity
}

/** Files of another file system, which was mounted over the folder, may have the same numbers. */
function toFileIdentity({ dev, ino }: Stats): string {
  return `${dev}:${ino}`
}

async function openFile(path: string, { header }: AppendOptions): Promise<OpenFile> {
  const directory = dirname(path)
  await makeDirectory(directory)
  const there = await lstat(path).catch(() => undefined)
  if (there !== undefined && !there.isFile())
    throw new Error(`${path} is not a regular file: choose another path, or remove it`)
  const handle = await open(path, flags, fileMode)
  try {
    await handle.chmod(fileMode)
    await endLastLine(handle, header)
    const { size } = await handle.stat()
    if (size === 0 && header !== '') await handle.appendFile(`${header}\n`)
    await handle.sync()
    if (there === undefined) await syncDirectory(directory)
    const opened = await handle.stat()
    return { handle, identity: toFileIdentity(opened), bytes: opened.size }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/**
 * Removes an incomplete last line. A file without any line end has an incomplete header, or was written by another program: its content is then kept as
 * the first line.
 */
async function endLastLine(handle: FileHandle, header: string): Promise<void> {
  const { size } = await handle.stat()
  const part = Buffer.alloc(searchBytes)
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - searchBytes)
    const { bytesRead } = await handle.read(part, 0, end - start, start)
    const last = part.subarray(0, bytesRead).lastIndexOf(newline)
    if (last >= 0) {
      if (start + last + 1 < size) await handle.truncate(start + last + 1)
      return
    }
    end = start
  }
  if (size === 0) return
  const text = part.toString('utf8', 0, Math.min(size, searchBytes))
  if (size <= searchBytes && header.startsWith(text)) await handle.truncate(0)
  else await handle.appendFile(lineEnd)
}

/** Increases the numbers of the older files up to the first free number. Without a free number the oldest file is replaced. */
async function rotate(path: string, maxFiles: number): Promise<void> {
  if (maxFiles === 1) return rm(path, { force: true })
  let free = 1
  while (free < maxFiles - 1 && (await isThere(`${path}.${free}`))) free++
  for (let number = free; number > 1; number--) await rename(`${path}.${number - 1}`, `${path}.${number}`)
  await rename(path, `${path}.1`)
  await syncDirectory(dirname(path))
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

async function syncDirectory(directory: string): Promise<void> {
  await using handle = await open(directory, constants.O_RDONLY)
  await handle.sync()
}

function formatFileError(error: unknown, path: string): string {
  const { message } = error as Error
  return message.includes(path) ? message : `${path}: ${message}`
}
