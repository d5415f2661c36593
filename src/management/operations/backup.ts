// What the management asks of the node about backups: archives in the backup directory, made and carried out.

import type { Readable } from 'node:stream'
import type { Caller } from '../../contract/index.ts'
import type { PageFound, PageWanted } from './credentials.ts'

/** In whose name, and what of the backups is theirs. */
export interface BackupScope {
  /** A namespace has a folder of its own, and archives with its configuration only. undefined: the whole broker. */
  readonly namespace: string | undefined
  /**
   * Whether archives with administrators and API keys may be read and carried out. Of whoever may not, exports leave them
   * out without a word, and an archive that has them is FORBIDDEN.
   */
  readonly mayManageAccounts: boolean
  readonly by: Caller
}

/** Why it was not done. */
export interface BackupRefusal {
  readonly symbol: 'BAD_REQUEST' | 'NOT_FOUND' | 'FORBIDDEN' | 'CONFLICT' | 'INTERNAL_ERROR'
  /** Whole sentences: what is wrong, with what, and what to do. */
  readonly message: string
  /** By part of the archive: what failed of it while the rest is in force. Empty: nothing was changed. */
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

/** What goes into an archive. undefined: all. */
/** An archive that was made just now. */
export interface MadeBackup extends BackupFile {
  /** Names of the tables that are in it. */
  readonly tables: readonly string[]
}

export interface ExportRequest {
  /** Such as `builtin_authn`; an unknown one is a BAD_REQUEST. */
  readonly tableSets: readonly string[] | undefined
  /** Sections of the configuration. */
  readonly rootKeys: readonly string[] | undefined
}

export interface ImportRequest {
  /** A file of the backup directory. An absolute path as well, where `by` is the operator of this machine (`socket`). */
  readonly filename: string
  /** Everything is looked at and nothing changed. */
  readonly isDry: boolean
  readonly allowsProfileMismatch: boolean
  /** Such as `builtin_authn`, and `configuration` and `files`. undefined: all that is in the archive. */
  readonly parts: readonly string[] | undefined
}

/** What is done to a table. */
export interface TableChange {
  readonly table: string
  /** There was nothing of that name. */
  readonly inserts: number
  /** It is there and otherwise. */
  readonly updates: number
  /** It is there as it is in the archive. */
  readonly unchanged: number
  /** The first of those that are there and otherwise, by name. */
  readonly conflicts: readonly string[]
}

export interface ConfigurationChange {
  readonly key: string
  /** undefined: as by default. Secrets are masked. */
  readonly old: string | undefined
  readonly new: string | undefined
  readonly needsRestart: boolean
}

export interface ImportOutcome {
  readonly isDry: boolean
  readonly tables: readonly TableChange[]
  readonly configuration: readonly ConfigurationChange[]
  /** What will be otherwise than somebody might expect, a sentence each. */
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

/** Between an archive and another one, or the broker that runs. Names only: no secret is told. */
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

/** What is going on now, for whoever waits for it. */
export interface BackupProgress {
  readonly job: 'export' | 'import' | 'verify' | 'diff'
  readonly part: string
  readonly done: number
  /** undefined: nobody knows. */
  readonly total: number | undefined
}

/** One of export, import, verify and diff at a time; a second one is a CONFLICT. */
export interface BackupOperations {
  readonly nodeName: string
  /** The newest first. */
  list(scope: BackupScope, page: PageWanted): Promise<PageFound<BackupFile> | BackupRefusal>
  read(scope: BackupScope, filename: string): Promise<BackupContent | BackupRefusal>
  /** Takes a file in, looks whether it is an archive, and keeps it or nothing. The stream is always read or destroyed. */
  receive(scope: BackupScope, filename: string, content: Readable): Promise<BackupFile | BackupRefusal>
  remove(scope: BackupScope, filename: string): Promise<BackupRefusal | undefined>
  /** Resolves when the archive is on disk, whole. */
  export(scope: BackupScope, wish: ExportRequest): Promise<MadeBackup | BackupRefusal>
  /** Resolves when all of it is in force. */
  import(scope: BackupScope, wish: ImportRequest): Promise<ImportOutcome | BackupRefusal>
  verify(scope: BackupScope, filename: string): Promise<ArchiveDescription | BackupRefusal>
  /** `second` undefined: the broker as it is now. */
  diff(scope: BackupScope, first: string, second: string | undefined): Promise<ArchiveDifference | BackupRefusal>
  /** undefined: nothing. */
  progress(): BackupProgress | undefined
}
