// Backups of this node: files in its backup directory.

import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  guardedTables,
  archiveLimits,
  findArchiveProblem,
  type TableName,
  tableNames,
  type TableRecord,
  tableSets,
} from '../../backup/index.ts'
import { describeAsObject, type PlainValue, toPlain } from '../../config/index.ts'
import type { PageFound, PageWanted } from '../../management/index.ts'
import {
  type BackupFile,
  type BackupRefusal,
  type BackupScope,
  BackupFolder,
  quoteName,
  createRefusal,
} from './backup-folder.ts'
import { listAccountSets, checkFile, type CheckPlan } from './check-file.ts'
import {
  type ArchiveDifference,
  Comparison,
  compareConfigurations,
  readPlainConfiguration,
} from './compare-archives.ts'
import {
  collectConfiguration,
  selectNamespace,
  type ExportDependencies,
  exportArchive,
  type ExportPlan,
} from './export-archive.ts'
import {
  importArchive,
  type ImportDependencies,
  type ImportOutcome,
  type ImportRequest,
  readLimits,
} from './import/import-archive.ts'
import { checkConfiguration } from './import/import-configuration.ts'
import { refuseSets, readProfile, checkArchive } from './import/import-permission.ts'
import { toScopedKey } from './namespace-configuration.ts'
import { TooLarge, createWritable } from './open-file.ts'
import { takeBrokerSnapshot } from './snapshot.ts'
import { ScanBudget } from '../records/record-scan.ts'
import { type Store, StorageFailure } from '../../storage/index.ts'
import type { Logger } from '../../telemetry/index.ts'

/** Parts of the node that backups contain. */
export interface BackupDependencies extends ImportDependencies {
  readonly nodeName: string
  readonly ownStore: Store
  readonly log: Logger
}

/** Prefix of archives that were requested. */
const exportPrefix = 'godwit'

const scheduledPrefix = 'godwit-scheduled'

/** Scope of automatic backups. */
const itself: BackupScope = {
  namespace: undefined,
  mayManageAccounts: true,
  by: { name: 'schedule', by: 'nobody', role: 'administrator', namespace: undefined, address: '', login: undefined },
}

export interface BackupContent {
  readonly file: BackupFile
  readonly content: Readable
}

/** A new archive. */
export interface CreatedBackup extends BackupFile {
  /** Names of its tables. */
  readonly tables: readonly string[]
}

/** The content of a new archive. undefined: all. */
export interface ExportRequest {
  /** For example `builtin_authn`; an unknown one is refused with BAD_REQUEST. */
  readonly tableSets: readonly string[] | undefined
  /** Sections of the configuration. */
  readonly rootKeys: readonly string[] | undefined
}

export interface ArchiveDescription {
  readonly file: BackupFile
  readonly product: string
  readonly version: string
  readonly format: number
  readonly profile: 'hardened' | 'legacy'
  readonly createdAtMs: number
  readonly members: readonly { readonly name: string; readonly bytes: number; readonly sha256: string }[]
  readonly counts: Readonly<Record<string, number>>
}

/** Progress of the current operation. */
export interface BackupProgress {
  readonly job: 'export' | 'import' | 'verify' | 'diff'
  readonly part: string
  readonly done: number
  /** undefined: unknown. */
  readonly total: number | undefined
}

/** One export, import, verify or diff runs at a time; a second one is refused with CONFLICT. */
export class Backups {
  readonly nodeName: string
  #progress: BackupProgress | undefined
  readonly #dependencies: BackupDependencies
  readonly #folder: BackupFolder

  constructor(dependencies: Omit<BackupDependencies, 'store'>) {
    this.nodeName = dependencies.nodeName
    this.#dependencies = { ...dependencies, store: dependencies.ownStore }
    this.#folder = new BackupFolder(dependencies.dataDirectory, dependencies.nodeName)
    this.#progress = undefined
    this.#folder.removeUnfinished().catch((error: unknown) => {
      dependencies.log.warn('backup directory not cleaned', { why: (error as Error).message })
    })
  }

  /** undefined: none is running. */
  readProgress(): BackupProgress | undefined {
    return this.#progress
  }

  /** Newest first. */
  async list(scope: BackupScope, { page, limit }: PageWanted): Promise<PageFound<BackupFile> | BackupRefusal> {
    const files = await this.#folder.list(scope)
    if ('symbol' in files) return files
    return { items: files.slice((page - 1) * limit, page * limit), count: files.length }
  }

  async read(scope: BackupScope, filename: string): Promise<BackupContent | BackupRefusal> {
    const opened = await this.#folder.open(scope, filename)
    if ('symbol' in opened) return opened
    const { handle, file } = opened
    const refused = scope.mayManageAccounts ? undefined : await this.#checkReadable(handle, filename)
    if (refused !== undefined) {
      await handle.close()
      return refused
    }
    return { file, content: handle.createReadStream({ start: 0 }) }
  }

  /** A caller who could not export it must not download it either. */
  async #checkReadable(handle: FileHandle, filename: string): Promise<BackupRefusal | undefined> {
    const checked = await checkFile({ handle, filename }, readLimits(this.#dependencies))
    // An unreadable archive may contain anything.
    if ('symbol' in checked) return createRefusal('FORBIDDEN', checked.message)
    const plugins = (checked.counts.get('plugins') ?? 0) > 0 ? ['plugins'] : []
    const sets = [...listAccountSets(checked), ...plugins]
    return sets.length === 0 ? undefined : refuseSets(sets)
  }

  remove(scope: BackupScope, filename: string): Promise<BackupRefusal | undefined> {
    this.#dependencies.log.warn('backup deleted', { filename: quoteName(filename), ...toAuthor(scope) })
    return this.#folder.remove(scope, filename)
  }

  /** Receives a file, checks whether it is an archive, and stores it or nothing. The stream is always read or destroyed. */
  async receive(scope: BackupScope, filename: string, content: Readable): Promise<BackupFile | BackupRefusal> {
    // It may fail before it is read; the reader gets the error.
    content.on('error', () => {})
    const unfinished = await this.#folder.begin(scope, filename)
    if ('symbol' in unfinished) {
      content.destroy()
      return unfinished
    }
    try {
      const taken = await receiveContent(content, unfinished.handle)
      if (taken !== undefined) return taken
      const { handle } = unfinished
      const checked = await checkFile({ handle, filename }, readLimits(this.#dependencies))
      if ('symbol' in checked) return checked
      // Profile and scope matter only for an import.
      const request = { filename, isDryRun: true, allowsProfileMismatch: true, parts: undefined }
      const anybody = { ...scope, mayManageAccounts: true, namespace: checked.meta.namespace }
      const refused = checkArchive(this.#dependencies, { scope: anybody, request, tables: tableNames }, checked)
      return refused ?? checkConfiguration(this.#dependencies, checked) ?? (await unfinished.publish())
    } finally {
      await unfinished.discard()
    }
  }

  /** Makes one, and deletes the oldest automatic ones beyond `keep`. Failures are logged. Never rejects. */
  async makeScheduled(keep: number): Promise<void> {
    const { log } = this.#dependencies
    const made = await this.export(itself, { tableSets: undefined, rootKeys: undefined }, scheduledPrefix)
    if ('symbol' in made) return log.error('scheduled backup failed', { why: made.message })
    const files = await this.#folder.list(itself)
    if ('symbol' in files) return
    const own = files.filter(({ filename }) => filename.startsWith(`${scheduledPrefix}-export-`))
    for (const { filename } of own.slice(keep)) await this.remove(itself, filename)
  }

  /** Resolves when the archive is complete and durable. */
  export(scope: BackupScope, request: ExportRequest, prefix = exportPrefix): Promise<CreatedBackup | BackupRefusal> {
    const plan = this.#planOf(scope, request, prefix)
    if ('symbol' in plan) return Promise.resolve(plan)
    return this.#runExclusively('export', async () => {
      const file = await exportArchive(this.#exportGround(), plan)
      if ('symbol' in file) return file
      this.#dependencies.log.info('backup created', { ...file, ...toAuthor(scope) })
      return { ...file, tables: plan.tables }
    })
  }

  #planOf({ namespace, mayManageAccounts }: BackupScope, { tableSets: sets, rootKeys }: ExportRequest, prefix: string) {
    const unknownSets = (sets ?? []).filter((name) => !Object.hasOwn(tableSets, name))
    if (unknownSets.length > 0) {
      const known = Object.keys(tableSets).join(', ')
      return createRefusal(
        'BAD_REQUEST',
        `Invalid table sets: ${unknownSets.map(quoteName).join(', ')}. There are ${known}`,
      )
    }
    const roots = Object.keys(describeAsObject(this.#dependencies.configuration.config))
    const unknownKeys = (rootKeys ?? []).filter((key) => !roots.includes(key))
    if (unknownKeys.length > 0) {
      return createRefusal(
        'BAD_REQUEST',
        `Invalid root keys: ${unknownKeys.map(quoteName).join(', ')}. There are ${roots.join(', ')}`,
      )
    }
    const requestedTables = sets?.flatMap((name) => tableSets[name] ?? [])
    // A request for some tables or sections gets no others.
    const tables = namespace !== undefined ? [] : (requestedTables ?? (rootKeys === undefined ? tableNames : []))
    return {
      namespace,
      tables: tables.filter((table) => mayManageAccounts || !guardedTables.includes(table)),
      rootKeys: rootKeys ?? (sets === undefined ? undefined : []),
      hasAccounts: mayManageAccounts,
      prefix,
      onProgress: (part: string, done: number, total?: number) => this.#recordProgress('export', { part, done, total }),
    } satisfies ExportPlan
  }

  #exportGround(): ExportDependencies {
    const { configuration } = this.#dependencies
    return {
      ...this.#dependencies,
      folder: this.#folder,
      readProfile: () => configuration.config.node.securityProfile,
      readConfiguration: () => {
        const { values, folder } = configuration.written
        return { written: toPlain(values), folder }
      },
    }
  }

  /** Resolves when everything is applied. */
  import(scope: BackupScope, request: ImportRequest): Promise<ImportOutcome | BackupRefusal> {
    return this.#withFile(scope, request.filename, 'import', async (opened) => {
      const onProgress = (part: string, done: number, total?: number): void =>
        this.#recordProgress('import', { part, done, total })
      const outcome = await importArchive(this.#dependencies, opened, { scope, request, onProgress })
      if (!request.isDryRun) this.#logOutcome(scope, request, outcome)
      return outcome
    })
  }

  #logOutcome(scope: BackupScope, { filename }: ImportRequest, outcome: ImportOutcome | BackupRefusal): void {
    const { log } = this.#dependencies
    const about = { filename: quoteName(filename), ...toAuthor(scope) }
    if ('symbol' in outcome) log.warn('backup not restored completely', { ...about, why: outcome.message })
    else log.warn('backup restored', about)
  }

  verify(scope: BackupScope, filename: string): Promise<ArchiveDescription | BackupRefusal> {
    return this.#withFile(scope, filename, 'verify', async (opened) => {
      const onProgress = (part: string, done: number, total?: number): void =>
        this.#recordProgress('verify', { part, done, total })
      const checked = await checkFile(opened, { ...readLimits(this.#dependencies), onProgress })
      if ('symbol' in checked) return checked
      const { meta, counts, members } = checked
      const foreign = findArchiveProblem(checked, this.#dependencies.version)
      if (foreign !== undefined) return createRefusal('BAD_REQUEST', foreign)
      return {
        file: opened.file,
        product: meta.product ?? '',
        version: meta.version ?? '',
        format: meta.format ?? 0,
        profile: readProfile(checked),
        createdAtMs: meta.createdAtMs,
        members,
        counts: Object.fromEntries(counts),
      }
    })
  }

  /** `second` undefined: the running broker. */
  diff(scope: BackupScope, first: string, second: string | undefined): Promise<ArchiveDifference | BackupRefusal> {
    const comparison = new Comparison()
    const pass = (onRecord: 'addFirst' | 'addSecond' | 'addFirstAgain') => ({
      ...readLimits(this.#dependencies),
      onRecord: (table: TableName, record: TableRecord) => {
        if (scope.mayManageAccounts || !guardedTables.includes(table)) comparison[onRecord](table, record)
      },
      onProgress: (part: string, done: number, total?: number) => this.#recordProgress('diff', { part, done, total }),
    })
    return this.#withFile(scope, first, 'diff', async (one) => {
      const ofFirst = await checkFile(one, pass('addFirst'))
      if ('symbol' in ofFirst) return ofFirst
      const ofSecond = await this.#readSecond(scope, second, pass('addSecond'))
      if ('symbol' in ofSecond) return ofSecond
      if (comparison.needsThirdPass) await checkFile(one, pass('addFirstAgain'))
      const { settingTexts } = this.#dependencies.configuration.config
      const { namespace } = scope
      const isSecret = (key: string): boolean =>
        settingTexts.get(namespace === undefined ? key : toScopedKey(key, namespace))?.isSecret === true
      const configuration = compareConfigurations(readPlainConfiguration(ofFirst), ofSecond.configuration, isSecret)
      return { tables: comparison.tables, configuration }
    })
  }

  /** Another archive, or the running broker. */
  async #readSecond(
    scope: BackupScope,
    filename: string | undefined,
    plan: CheckPlan,
  ): Promise<{ readonly configuration: PlainValue } | BackupRefusal> {
    if (filename !== undefined) {
      const opened = await this.#openFor(scope, filename)
      if ('symbol' in opened) return opened
      try {
        const checked = await checkFile({ ...opened, filename: opened.file.filename }, plan)
        return 'symbol' in checked ? checked : { configuration: readPlainConfiguration(checked) }
      } finally {
        await opened.handle.close()
      }
    }
    // What an export of a namespace would contain, without data of the whole broker.
    if (scope.namespace !== undefined) return { configuration: selectNamespace(this.#exportGround(), scope.namespace) }
    const moment = takeBrokerSnapshot(this.#dependencies)
    const budget = new ScanBudget()
    for (const table of tableNames) {
      for await (const record of moment[table]) {
        plan.onRecord?.(table, record)
        if (budget.isExhausted()) await budget.pause()
      }
    }
    const whole = { rootKeys: undefined, hasAccounts: scope.mayManageAccounts }
    return collectConfiguration(this.#exportGround(), whole)
  }

  #openFor(scope: BackupScope, filename: string) {
    const isLocal = scope.by.by === 'socket' && filename.startsWith('/')
    return isLocal ? this.#folder.openLocal(filename) : this.#folder.open(scope, filename)
  }

  #withFile<Outcome>(
    scope: BackupScope,
    filename: string,
    job: BackupProgress['job'],
    work: (opened: {
      readonly handle: FileHandle
      readonly file: BackupFile
      readonly filename: string
    }) => Promise<Outcome | BackupRefusal>,
  ): Promise<Outcome | BackupRefusal> {
    return this.#runExclusively(job, async () => {
      const opened = await this.#openFor(scope, filename)
      if ('symbol' in opened) return opened
      try {
        return await work({ ...opened, filename: opened.file.filename })
      } finally {
        await opened.handle.close()
      }
    })
  }

  /** Two at a time would see incomplete results of each other. */
  async #runExclusively<Outcome>(
    job: BackupProgress['job'],
    work: () => Promise<Outcome | BackupRefusal>,
  ): Promise<Outcome | BackupRefusal> {
    if (this.#progress !== undefined) {
      return createRefusal('CONFLICT', `another ${this.#progress.job} is going on: wait until it is done`)
    }
    this.#recordProgress(job, { part: '', done: 0, total: undefined })
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StorageFailure) && (error as NodeJS.ErrnoException).code === undefined) throw error
      this.#dependencies.log.error('backup failed', { job, why: (error as Error).message })
      return createRefusal('INTERNAL_ERROR', `the disk refuses: ${(error as Error).message}`)
    } finally {
      this.#progress = undefined
    }
  }

  #recordProgress(
    job: BackupProgress['job'],
    { part, done, total }: { readonly part: string; readonly done: number; readonly total: number | undefined },
  ): void {
    this.#progress = { job, part, done, total }
  }
}

/** Writes the content up to a maximum size. */
async function receiveContent(content: Readable, handle: FileHandle): Promise<BackupRefusal | undefined> {
  try {
    await pipeline(content, createWritable(handle, archiveLimits.maxCompressedBytes))
    return undefined
  } catch (error) {
    if (error instanceof TooLarge) return createRefusal('BAD_REQUEST', `the file is too large: ${error.message}`)
    const { code = '', message } = error as NodeJS.ErrnoException
    const isOfSender = code === 'ERR_STREAM_PREMATURE_CLOSE' || content.errored !== null
    if (isOfSender) return createRefusal('BAD_REQUEST', `the file did not come whole: ${message}`)
    return createRefusal('INTERNAL_ERROR', `the disk refuses: ${message}`)
  }
}

function toAuthor({ by, namespace }: BackupScope): Record<string, string> {
  return { by: by.by, name: by.name, address: by.address, ...(namespace === undefined ? {} : { namespace }) }
}
