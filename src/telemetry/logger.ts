// Where the lines of this process go: to the console, to a file, or to both. Only the main thread makes one of these.

import { createJsonLog, type LineLog } from './json-log.ts'
import type { LogLevel } from './log.ts'
import { openRotatingFile, type RotatingFile } from './rotating-file.ts'
import { terminalLine } from './terminal-line.ts'

export interface LogTargets {
  /** log.to */
  readonly to: readonly ('console' | 'file')[]
  /** log.dir, absolute; made where it is missing. */
  readonly dir: string
  /** log.file, a name without folders. */
  readonly file: string
  /** log.rotation.size, in bytes. */
  readonly rotationSizeBytes: number
  /** log.rotation.count: older files kept. */
  readonly rotationCount: number
}

export interface LoggerOptions extends LogTargets {
  /** log.level */
  readonly level: LogLevel
}

/** The console as the log needs it: `process.stderr`, or a test's own. */
export interface Console {
  /** A terminal gets lines for people, everything else JSON. */
  readonly isTTY?: boolean
  write(line: string): unknown
}

export interface Logger extends LineLog {
  /**
   * Lines go there from now on; those before are with the system when it resolves. Rejects with the system's error where the
   * file cannot be opened: then all is as it was.
   */
  changeTargets(targets: LogTargets): Promise<void>
  /** Lines are with the system when it resolves; later ones go to the console alone. */
  close(): Promise<void>
}

/** While the disk does not take lines the file is tried again this often. */
const reopenAfterMs = 30_000

/** Rejects with the system's error where the log's file cannot be opened. */
export async function createLogger(options: LoggerOptions, console: Console = process.stderr): Promise<Logger> {
  let open = await openTargets(options, console)
  const log = createJsonLog(options.level, (line) => {
    const isKept = open.file?.write(line) ?? false
    // A line that could not be written to the file goes to the console.
    if (open.usesConsole || !isKept) writeToConsole(console, line)
  })
  return {
    ...log,
    changeTargets: async (targets) => {
      const before = open
      open = await openTargets(targets, console)
      await before.file?.close()
    },
    close: async () => {
      await open.file?.close()
    },
  }
}

interface OpenTargets {
  readonly usesConsole: boolean
  readonly file: LogFile | undefined
}

async function openTargets(targets: LogTargets, console: Console): Promise<OpenTargets> {
  const file = targets.to.includes('file') ? new LogFile(targets, console) : undefined
  await file?.open()
  return { usesConsole: targets.to.includes('console'), file }
}

function writeToConsole(console: Console, line: string): void {
  console.write(console.isTTY === true ? terminalLine(line) : line)
}

/** The rotating file, opened again after a fault of the disk: a full one is emptied some day. */
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
      onFault: (error) => this.#handleFailure(error),
    })
  }

  /** Whether the file has taken the line. */
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
    this.#say(`cannot write the log ${dir}/${file}: ${error.message}; lines go to the console until it works again`)
    this.#reopenTimer = setTimeout(() => {
      this.open().catch((again: unknown) => this.#handleFailure(again as Error))
    }, reopenAfterMs).unref()
  }

  #say(event: string): void {
    createJsonLog('error', (line) => writeToConsole(this.#console, line)).error(event)
  }
}
