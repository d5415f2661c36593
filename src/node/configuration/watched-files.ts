// Applies changes of the configuration file and of the files that it names, such as certificates and access rules, while the node runs.
// For nodes whose files are replaced by an operator, which waits until the hash of a file is the one of the file that was applied.

import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { GodwitConfig } from '../../config/index.ts'
import type { Log } from '../../telemetry/index.ts'
import type { ConfigOutcome } from './config-outcome.ts'

export interface WatchedFile {
  /** Absolute. */
  readonly path: string
  /** SHA-256 of the content that is applied, in hexadecimal; undefined: none was applied. */
  readonly sha256: string | undefined
  /** Reason why the current content is not applied. */
  readonly problem: string | undefined
}

export interface WatchedFilesOptions {
  /** Absolute path of the configuration file; undefined: there is none. */
  readonly file: string | undefined
  readonly log: Log
  /** Changes are applied; otherwise only `check` does it. */
  isOn(): boolean
  readConfig(): GodwitConfig
  /** Reads configuration, certificates and keys again. */
  reload(): Promise<ConfigOutcome>
  /** Problems of certificate files, by their paths. */
  findFileProblems(): ReadonlyMap<string, string>
}

const intervalMs = 2_000
/** Further files are not watched. */
const maxFiles = 256
/** A larger file is no configuration, access rule or certificate. */
const maxFileBytes = 16_777_216

type Hashes = ReadonlyMap<string, string>

export class WatchedFiles {
  readonly #options: WatchedFilesOptions
  /** Contents of the last attempt to apply them. */
  #seen: Hashes = new Map()
  #applied: Hashes = new Map()
  /** Reason why the configuration was not applied. */
  #problem: string | undefined
  #fileProblems: ReadonlyMap<string, string> = new Map()
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: WatchedFilesOptions) {
    this.#options = options
  }

  get isOn(): boolean {
    return this.#options.isOn()
  }

  /** Checks the files now, and again every two seconds. */
  async start(): Promise<void> {
    if (this.#isStopped) return
    if (this.#options.isOn()) await this.check()
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.start(), intervalMs).unref()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  listFiles(): readonly WatchedFile[] {
    return [...this.#seen].map(([path, hash]) => {
      const isApplied = this.#applied.get(path) === hash
      const problem = this.#fileProblems.get(path) ?? (isApplied ? undefined : this.#problem)
      return { path, sha256: this.#applied.get(path), problem }
    })
  }

  /** Applies the files if one of them has changed since the last attempt. */
  async check(): Promise<void> {
    const before = await this.#hashFiles()
    if (hasSameEntries(before, this.#seen)) return
    const outcome = await this.#options.reload()
    this.#seen = before
    if (!outcome.isDone) {
      this.#problem = outcome.message
      this.#options.log.error('changed files not applied', { problem: outcome.message })
      return
    }
    const problems = this.#options.findFileProblems()
    // A file that changed during the reload, or that the configuration names only now, is applied by the next check.
    const after = await this.#hashFiles()
    const applied = [...before].filter(([path, hash]) => after.get(path) === hash && !problems.has(path))
    const kept = [...this.#applied].filter(([path]) => problems.has(path))
    this.#applied = new Map([...applied, ...kept])
    this.#fileProblems = problems
    this.#problem = undefined
    this.#options.log.info('changed files applied', {
      files: applied.length,
      problems: [...problems.values()].join('; '),
    })
  }

  async #hashFiles(): Promise<Hashes> {
    const hashes = new Map<string, string>()
    for (const path of this.#listPaths()) {
      const hash = await hashFile(path)
      if (hash !== undefined) hashes.set(path, hash)
    }
    return hashes
  }

  /** Returns the configuration file, and the files that its settings name. */
  #listPaths(): readonly string[] {
    const { file } = this.#options
    const folder = file === undefined ? '/' : dirname(file)
    const named = [...this.#options.readConfig().settingTexts.values()]
      .flatMap(({ paths }) => paths)
      .filter(({ base, isWritten }) => base !== 'data-directory' && !isWritten)
      .map(({ base, path }) => resolve(base === 'configuration-folder' ? folder : '', path))
    return [...new Set([...(file === undefined ? [] : [file]), ...named])].slice(0, maxFiles)
  }
}

/** Returns undefined for a directory, and for a file that is missing or too large. */
async function hashFile(path: string): Promise<string | undefined> {
  try {
    const facts = await stat(path)
    if (!facts.isFile() || facts.size > maxFileBytes) return undefined
    return createHash('sha256')
      .update(await readFile(path))
      .digest('hex')
  } catch {
    // It is being replaced, or is gone: the next reload reports it.
    return undefined
  }
}

function hasSameEntries(one: Hashes, other: Hashes): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key) === value)
}
