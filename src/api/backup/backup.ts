// Backup files (`/data/files`), exports, imports and comparisons: operations of the node, and handlers.

import type { backupEndpoints } from './endpoints.ts'
import type { Caller, ReplyOf } from '../../contract/index.ts'
import {
  type Handlers,
  metaOf,
  type PageFound,
  type PageWanted,
  MalformedUpload,
  authorizeCaller,
  type ApiError,
  refuseFor,
  offsetTime,
} from '../../management/index.ts'
import type { Readable } from 'node:stream'
import type {
  ArchiveDifference,
  BackupFile,
  BackupRefusal,
  BackupScope,
  ImportOutcome,
  ImportRequest,
} from '../../node/index.ts'

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

type Known = typeof backupEndpoints

const defaultLimit = 100
const msPerSecond = 1_000

export function backupHandlers(backup: BackupOperations): Handlers<Known> {
  return { ...fileHandlers(backup), ...jobHandlers(backup) }
}

type OfFiles = 'get_backup_files' | 'upload_backup_file' | 'download_backup_file' | 'delete_backup_file'

function fileHandlers(backup: BackupOperations): Handlers<Pick<Known, OfFiles>> {
  return {
    get_backup_files: async ({ query, namespace, caller }) => {
      const page = { page: query.page ?? 1, limit: query.limit ?? defaultLimit }
      const found = await backup.list(scopeOf(caller, namespace), page)
      if ('symbol' in found) return refusalFor(found)
      return { code: 0, data: found.items.map(written), meta: metaOf(page, found) }
    },
    upload_backup_file: async ({ body: { filename, content }, namespace, caller }) => {
      try {
        const kept = await backup.receive(scopeOf(caller, namespace), filename, content)
        return 'symbol' in kept ? refusalFor(kept) : { code: 0, ...written(kept) }
      } catch (error) {
        if (content.errored instanceof MalformedUpload) return refuseFor('BAD_REQUEST', content.errored.message)
        throw error
      } finally {
        content.destroy()
      }
    },
    download_backup_file: async ({ params: { filename }, query, namespace, caller }) => {
      const found = refusalOfNode(backup, query.node) ?? (await backup.read(scopeOf(caller, namespace), filename))
      if ('symbol' in found) return refusalFor(found)
      return 'content' in found ? found.content : found
    },
    delete_backup_file: async ({ params: { filename }, query, namespace, caller }) => {
      const refused = refusalOfNode(backup, query.node)
      if (refused !== undefined) return refused
      const failed = await backup.remove(scopeOf(caller, namespace), filename)
      return failed === undefined ? { code: 0 } : refusalFor(failed)
    },
  }
}

type OfJobs = Exclude<keyof Known, OfFiles>

function jobHandlers(backup: BackupOperations): Handlers<Pick<Known, OfJobs>> {
  return {
    import_backup: async ({ body, namespace, caller }) => {
      const refused = refusalOfNode(backup, body.node)
      if (refused !== undefined) return refused
      const { filename, parts, dry_run: isDryRun = false, allow_security_profile_mismatch: allows = false } = body
      const request = { filename, isDryRun, allowsProfileMismatch: allows, parts }
      const outcome = await backup.import(scopeOf(caller, namespace), request)
      return 'symbol' in outcome ? refusalFor(outcome) : { code: 0, data: writtenOutcome(outcome) }
    },
    export_backup: async ({ body: { table_sets: tableSets, root_keys: rootKeys }, namespace, caller }) => {
      const made = await backup.export(scopeOf(caller, namespace), { tableSets, rootKeys })
      return 'symbol' in made ? refusalFor(made) : { code: 0, ...written(made), tables: [...made.tables] }
    },
    verify_backup: async ({ body: { filename }, namespace, caller }) => {
      const found = await backup.verify(scopeOf(caller, namespace), filename)
      return 'symbol' in found ? refusalFor(found) : { code: 0, data: writtenDescription(found) }
    },
    compare_backups: async ({ body: { first, second }, namespace, caller }) => {
      const found = await backup.diff(scopeOf(caller, namespace), first, second)
      return 'symbol' in found ? refusalFor(found) : { code: 0, data: writtenDifference(found) }
    },
    get_backup_progress: () => {
      const now = backup.progress()
      return { code: 0, data: now === undefined ? null : { ...now, total: now.total ?? null } }
    },
  }
}

function scopeOf(caller: Caller, namespace: string | undefined): BackupScope {
  const mayManageAccounts = authorizeCaller({ endpoint: { access: 'accounts' } }, caller) === undefined
  return { namespace, mayManageAccounts, by: caller }
}

function refusalOfNode({ nodeName }: BackupOperations, node: string | undefined): ApiError | undefined {
  if (node === undefined || node === nodeName) return undefined
  return refuseFor('BAD_REQUEST', `there is no node ${JSON.stringify(node)}: this one is ${nodeName}`)
}

function refusalFor({ symbol, message, parts }: BackupRefusal): ApiError {
  const refused = refuseFor(symbol, message)
  return Object.keys(parts).length === 0 ? refused : refused.withParts(parts)
}

function written({
  filename,
  node,
  createdAtMs,
  bytes,
}: BackupFile): ReplyOf<Known['get_backup_files']>['data'][number] {
  const seconds = Math.floor(createdAtMs / msPerSecond)
  return { filename, node, created_at: offsetTime(createdAtMs), created_at_sec: seconds, size: bytes }
}

function writtenOutcome(outcome: ImportOutcome): ReplyOf<Known['import_backup']>['data'] {
  return {
    dry_run: outcome.isDryRun,
    tables: outcome.tables.map((table) => ({ ...table, conflicts: [...table.conflicts] })),
    configuration: outcome.configuration.map(({ needsRestart, old = null, new: wanted = null, key }) => ({
      key,
      old,
      new: wanted,
      needs_restart: needsRestart,
    })),
    warnings: [...outcome.warnings],
  }
}

function writtenDescription(found: ArchiveDescription): ReplyOf<Known['verify_backup']>['data'] {
  const { file, product, version, format, profile, createdAtMs, members, counts } = found
  return {
    ...written(file),
    product,
    version,
    format,
    security_profile: profile,
    exported_at: offsetTime(createdAtMs),
    members: members.map(({ name, bytes, sha256 }) => ({ name, size: bytes, sha256 })),
    counts: { ...counts },
  }
}

function writtenDifference({ tables, configuration }: ArchiveDifference): ReplyOf<Known['compare_backups']>['data'] {
  return {
    tables: tables.map(({ table, onlyInFirst, onlyInSecond, different, examples }) => ({
      table,
      only_in_first: onlyInFirst,
      only_in_second: onlyInSecond,
      different,
      examples: [...examples],
    })),
    configuration: configuration.map(({ key, old = null, new: other = null }) => ({ key, old, new: other })),
  }
}
