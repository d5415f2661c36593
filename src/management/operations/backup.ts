// Backups for the API: archives in the backup directory.

import type { Readable } from 'node:stream'
import type { Caller } from '../../contract/index.ts'
import type { PageFound, PageWanted } from './credentials.ts'

/** The caller's rights for backups. */
export interface BackupScope {
  /** A namespace has a folder of its own, with archives of its configuration only. undefined: the whole broker. */
  readonly namespace: string | undefined
  /**
   * Whether archives with administrators and API keys may be read and imported. Otherwise exports omit them, and an
   * archive with them is refused with FORBIDDEN.
   */
  readonly mayManageAccounts: boolean
  readonly by: Caller
}

/** Why an operation was refused or failed. */
export interface BackupRefusal {
  readonly symbol: 'BAD_REQUEST' | 'NOT_FOUND' | 'FORBIDDEN' | 'CONFLICT' | 'INTERNAL_ERROR'
  /** Complete sentences: what is wrong, with what, and what to do. */
  readonly message: string
  /** By part of the archive: what failed while the rest was applied. Empty: nothing was changed. */
  readonly parts: Readonly<Record<string, string>>
}

export interface BackupFile {
  readonly filename: string
  readonly node: string
  readonly createdAtMs: number
  readonly bytes: number
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

export interface ImportRequest {
  /** A file in the backup directory, or an absolute path if `by` is the control socket. */
  readonly filename: string
  /** Checks everything and changes nothing. */
  readonly isDryRun: boolean
  readonly allowsProfileMismatch: boolean
  /** For example `builtin_authn`, and `configuration` and `files`. undefined: all that the archive contains. */
  readonly parts: readonly string[] | undefined
}

/** Changes of a table. */
export interface TableChange {
  readonly table: string
  /** There is no entry of that name. */
  readonly inserts: number
  /** The entry exists and differs. */
  readonly updates: number
  /** The entry exists and is equal. */
  readonly unchanged: number
  /** Names of the first entries that exist and differ. */
  readonly conflicts: readonly string[]
}

export interface ConfigurationChange {
  readonly key: string
  /** undefined: the default. Secrets are masked. */
  readonly old: string | undefined
  readonly new: string | undefined
  readonly needsRestart: boolean
}

export interface ImportOutcome {
  readonly isDryRun: boolean
  readonly tables: readonly TableChange[]
  readonly configuration: readonly ConfigurationChange[]
  /** Unexpected effects, a sentence each. */
  readonly warnings: readonly string[]
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

/** Differences between an archive and another one, or the running broker. Names only, no secrets. */
export interface ArchiveDifference {
  readonly tables: readonly {
    readonly table: string
    readonly onlyInFirst: number
    readonly onlyInSecond: number
    readonly different: number
    /** The first of them. */
    readonly examples: readonly { readonly name: string; readonly where: 'first' | 'second' | 'both' }[]
  }[]
  readonly configuration: readonly Omit<ConfigurationChange, 'needsRestart'>[]
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
export interface BackupOperations {
  readonly nodeName: string
  /** Newest first. */
  list(scope: BackupScope, page: PageWanted): Promise<PageFound<BackupFile> | BackupRefusal>
  read(scope: BackupScope, filename: string): Promise<BackupContent | BackupRefusal>
  /**
   * Receives a file, checks whether it is an archive, and stores it or nothing. The stream is always read or destroyed.
   */
  receive(scope: BackupScope, filename: string, content: Readable): Promise<BackupFile | BackupRefusal>
  remove(scope: BackupScope, filename: string): Promise<BackupRefusal | undefined>
  /** Resolves when the archive is complete and durable. */
  export(scope: BackupScope, request: ExportRequest): Promise<CreatedBackup | BackupRefusal>
  /** Resolves when everything is applied. */
  import(scope: BackupScope, request: ImportRequest): Promise<ImportOutcome | BackupRefusal>
  verify(scope: BackupScope, filename: string): Promise<ArchiveDescription | BackupRefusal>
  /** `second` undefined: the running broker. */
  diff(scope: BackupScope, first: string, second: string | undefined): Promise<ArchiveDifference | BackupRefusal>
  /** undefined: none is running. */
  progress(): BackupProgress | undefined
}
