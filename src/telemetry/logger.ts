// Writes the log of this process to the console, to a file, or to both. Only the main thread has a logger: shards send their lines to it.

import { createJsonLog, type LineLog } from './json-log.ts'
import type { LogFields, LogLevel } from './log.ts'
import { openRotatingFile, type RotatingFile } from './rotating-file.ts'
import { formatTerminalLine } from './format-terminal-line.ts'

export interface LogTargets {
  /** log.to */
  readonly to: readonly ('console' | 'file')[]
  /** log.dir, absolute; created if it is missing. */
  readonly dir: string
  /** log.file, a name without folders. */
  readonly file: string
  /** log.rotation.size, in bytes. */
  readonly rotationSizeBytes: number
  /** log.rotation.count: maximum number of older files. */
  readonly rotationCount: number
}

export interface LoggerOptions extends LogTargets {
  /** Returns a text without secrets. Called for each text of a line. */
  readonly maskText?: (text: string) => string
  /** log.level */
  readonly level: LogLevel
}

/** The console: `process.stderr`, or that of a test. */
export interface Console {
  /** A terminal gets lines formatted for reading, other outputs get JSON. */
  readonly isTTY?: boolean
  /** Bytes that its reader has not taken yet. */
  readonly writableLength?: number
  write(line: string): unknown
}

export interface Logger extends LineLog {
  /**
   * Writes later lines to `targets`. Resolves when all earlier lines were passed to the operating system. Rejects with the error of
   * the operating system if the file cannot be opened: then the targets are unchanged.
   */
  changeTargets(targets: LogTargets): Promise<void>
  /**
   * Opens the log file again, because another program has renamed it (logrotate). Rejects as `changeTargets` does; then lines go to the file
   * as before.
   */
  reopen(): Promise<void>
  /** Resolves when all lines were passed to the operating system. Later lines go to the console only. */
  close(): Promise<void>
}

/** While the file cannot be written, it is opened again at this interval. */
const reopenAfterMs = 30_000

/** Creates the logger. Rejects with the error of the operating system if the log file cannot be opened. */
export async function createLogger(options: LoggerOptions, console: Console = process.stderr): Promise<Logger> {
  let open = await openTargets(options, console)
  let current: LogTargets = options
  const replace = async (targets: LogTargets): Promise<void> => {
    const before = open
    open = await openTargets(targets, console)
    current = targets
    await before.file?.close()
  }
  /** One change after the other: each closes the file that the one before has opened. */
  let last: Promise<void> = Promise.resolve()
  const enqueue = (change: () => Promise<void>): Promise<void> => {
    const done = last.then(change)
    last = done.catch(() => {})
    return done
  }
  const unmasked = createJsonLog(options.level, (line) => {
    const isWritten = open.file?.write(line) ?? false
    // A line that could not be written to the file goes to the console.
    if (open.usesConsole || !isWritten) writeToConsole(console, line)
  })
  const log = options.maskText === undefined ? unmasked : createMaskedLog(unmasked, options.maskText)
  return {
    ...log,
    changeTargets: (targets) => enqueue(() => replace(targets)),
    reopen: () => enqueue(async () => (open.file === undefined ? undefined : replace(current))),
    close: () => enqueue(async () => open.file?.close()),
  }
}

function createMaskedLog(log: LineLog, maskText: (text: string) => string): LineLog {
  const write = (level: LogLevel, event: string, fields: LogFields | undefined): void => {
    const pairs = Object.entries(fields ?? {}).map(([name, value]) => [
      name,
      typeof value === 'string' ? maskText(value) : value,
    ])
    log.write(level, event, fields === undefined ? undefined : (Object.fromEntries(pairs) as LogFields))
  }
  return {
    write,
    changeLevel: (level) => log.changeLevel(level),
    debug: (event, fields) => write('debug', event, fields),
    info: (event, fields) => write('info', event, fields),
    warn: (event, fields) => write('warn', event, fields),
    error: (event, fields) => write('error', event, fields),
  }
}

interface OpenTargets {
  readonly usesConsole: boolean
  readonly file: LogFile | undefined
}

async function openTargets(targets: LogTargets, console: Console): Promise<OpenTargets> {
  const file = targets.to.includes('file') ? new LogFile(targets, console) : undefined
  await file?.openOrRetry()
  return { usesConsole: targets.to.includes('console'), file }
}

/** More is not kept in memory for a console whose reader does not read. */
const maxConsoleBytes = 1_048_576
let unwrittenLines = 0

function writeToConsole(console: Console, line: string): void {
  if ((console.writableLength ?? 0) > maxConsoleBytes) {
    unwrittenLines += 1
    return
  }
  if (unwrittenLines > 0) {
    const lines = unwrittenLines
    unwrittenLines = 0
    const log = createJsonLog('error', (text) => console.write(text))
    log.error('log lines not written to the console', { lines })
  }
  console.write(console.isTTY === true ? formatTerminalLine(line) : line)
}

/** The rotating file. It is opened again after a failure, because a full disk may have space again later. */
class LogFile {
  readonly #options: LogTargets
  readonly #console: Console
  #file: RotatingFile | undefined
  #reopenTimer: NodeJS.Timeout | undefined
  #isClosed: boolean

  constructor(options: LogTargets, console: Console) {
    this.#options = options
    this.#console = console
    this.#file = undefined
    this.#reopenTimer = undefined
    this.#isClosed = false
  }

  async open(): Promise<void> {
    const { dir, file, rotationSizeBytes, rotationCount } = this.#options
    this.#file = await openRotatingFile({
      directory: dir,
      file,
      rotationSizeBytes,
      rotationCount,
      onFailure: (error) => this.#handleFailure(error),
    })
  }

  /** As `open`, but a full disk is no reason not to start: lines go to the console until there is space. */
  async openOrRetry(): Promise<void> {
    try {
      await this.open()
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error
      this.#handleFailure(error as Error)
    }
  }

  /** Returns whether the line was accepted. */
  write(line: string): boolean {
    return this.#file?.write(line) ?? false
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#reopenTimer)
    const file = this.#file
    this.#file = undefined
    await file?.close()
  }

  #handleFailure(error: Error): void {
    this.#file = undefined
    if (this.#isClosed) return
    const { dir, file } = this.#options
    this.#report(`cannot write the log ${dir}/${file}: ${error.message}; lines go to the console until it works again`)
    this.#reopenTimer = setTimeout(() => {
      this.open().catch((again: unknown) => this.#handleFailure(again as Error))
    }, reopenAfterMs).unref()
  }

  /** Writes an error line to the console. */
  #report(event: string): void {
    createJsonLog('error', (line) => writeToConsole(this.#console, line)).error(event)
  }
}
