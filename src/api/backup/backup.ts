// Backup files (`/data/files`), exports, imports and comparisons.

import type { backupEndpoints } from './endpoints.ts'
import type { Caller, ReplyOf } from '../../contract/index.ts'
import {
  type Handlers,
  toPageMeta,
  MalformedUpload,
  authorizeCaller,
  type ApiError,
  refuseFor,
  formatOffsetTime,
} from '../../management/index.ts'
import type {
  ArchiveDescription,
  ArchiveDifference,
  BackupFile,
  BackupRefusal,
  Backups,
  BackupScope,
  ImportOutcome,
} from '../../node/index.ts'

type Known = typeof backupEndpoints

const defaultLimit = 100
const msPerSecond = 1_000

/** What the handlers use of the backups. */
export type UsedBackups = Omit<Backups, 'makeScheduled'>

export function createBackupHandlers(backup: UsedBackups): Handlers<Known> {
  return { ...createFileHandlers(backup), ...createJobHandlers(backup) }
}

type OfFiles = 'get_backup_files' | 'upload_backup_file' | 'download_backup_file' | 'delete_backup_file'

function createFileHandlers(backup: UsedBackups): Handlers<Pick<Known, OfFiles>> {
  return {
    get_backup_files: async ({ query, namespace, caller }) => {
      const page = { page: query.page ?? 1, limit: query.limit ?? defaultLimit }
      const found = await backup.list(toScope(caller, namespace), page)
      if ('symbol' in found) return toApiError(found)
      return { code: 0, data: found.items.map(toFileResponse), meta: toPageMeta(page, found) }
    },
    upload_backup_file: async ({ body: { filename, content }, namespace, caller }) => {
      try {
        const kept = await backup.receive(toScope(caller, namespace), filename, content)
        return 'symbol' in kept ? toApiError(kept) : { code: 0, ...toFileResponse(kept) }
      } catch (error) {
        if (content.errored instanceof MalformedUpload) return refuseFor('BAD_REQUEST', content.errored.message)
        throw error
      } finally {
        content.destroy()
      }
    },
    download_backup_file: async ({ params: { filename }, query, namespace, caller }) => {
      const found = checkNode(backup, query.node) ?? (await backup.read(toScope(caller, namespace), filename))
      if ('symbol' in found) return toApiError(found)
      return 'content' in found ? found.content : found
    },
    delete_backup_file: async ({ params: { filename }, query, namespace, caller }) => {
      const refused = checkNode(backup, query.node)
      if (refused !== undefined) return refused
      const failed = await backup.remove(toScope(caller, namespace), filename)
      return failed === undefined ? { code: 0 } : toApiError(failed)
    },
  }
}

type OfJobs = Exclude<keyof Known, OfFiles>

function createJobHandlers(backup: UsedBackups): Handlers<Pick<Known, OfJobs>> {
  return {
    import_backup: async ({ body, namespace, caller }) => {
      const refused = checkNode(backup, body.node)
      if (refused !== undefined) return refused
      const { filename, parts, dry_run: isDryRun = false, allow_security_profile_mismatch: allows = false } = body
      const request = { filename, isDryRun, allowsProfileMismatch: allows, parts }
      const outcome = await backup.import(toScope(caller, namespace), request)
      return 'symbol' in outcome ? toApiError(outcome) : { code: 0, data: toOutcomeResponse(outcome) }
    },
    export_backup: async ({ body: { table_sets: tableSets, root_keys: rootKeys }, namespace, caller }) => {
      const made = await backup.export(toScope(caller, namespace), { tableSets, rootKeys })
      return 'symbol' in made ? toApiError(made) : { code: 0, ...toFileResponse(made), tables: [...made.tables] }
    },
    verify_backup: async ({ body: { filename }, namespace, caller }) => {
      const found = await backup.verify(toScope(caller, namespace), filename)
      return 'symbol' in found ? toApiError(found) : { code: 0, data: toDescriptionResponse(found) }
    },
    compare_backups: async ({ body: { first, second }, namespace, caller }) => {
      const found = await backup.diff(toScope(caller, namespace), first, second)
      return 'symbol' in found ? toApiError(found) : { code: 0, data: toDifferenceResponse(found) }
    },
    get_backup_progress: () => {
      const now = backup.readProgress()
      return { code: 0, data: now === undefined ? null : { ...now, total: now.total ?? null } }
    },
  }
}

function toScope(caller: Caller, namespace: string | undefined): BackupScope {
  const mayManageAccounts = authorizeCaller({ endpoint: { access: 'accounts' } }, caller) === undefined
  return { namespace, mayManageAccounts, by: caller }
}

function checkNode({ nodeName }: UsedBackups, node: string | undefined): ApiError | undefined {
  if (node === undefined || node === nodeName) return undefined
  return refuseFor('BAD_REQUEST', `there is no node ${JSON.stringify(node)}: this one is ${nodeName}`)
}

function toApiError({ symbol, message, parts }: BackupRefusal): ApiError {
  const refused = refuseFor(symbol, message)
  return Object.keys(parts).length === 0 ? refused : refused.withParts(parts)
}

function toFileResponse({
  filename,
  node,
  createdAtMs,
  bytes,
}: BackupFile): ReplyOf<Known['get_backup_files']>['data'][number] {
  const seconds = Math.floor(createdAtMs / msPerSecond)
  return { filename, node, created_at: formatOffsetTime(createdAtMs), created_at_sec: seconds, size: bytes }
}

function toOutcomeResponse(outcome: ImportOutcome): ReplyOf<Known['import_backup']>['data'] {
  return {
    dry_run: outcome.isDryRun,
    tables: outcome.tables.map((table) => ({ ...table, conflicts: [...table.conflicts] })),
    configuration: outcome.configuration.map(({ needsRestart, old = null, new: newValue = null, key }) => ({
      key,
      old,
      new: newValue,
      needs_restart: needsRestart,
    })),
    warnings: [...outcome.warnings],
  }
}

function toDescriptionResponse(found: ArchiveDescription): ReplyOf<Known['verify_backup']>['data'] {
  const { file, product, version, format, profile, createdAtMs, members, counts } = found
  return {
    ...toFileResponse(file),
    product,
    version,
    format,
    security_profile: profile,
    exported_at: formatOffsetTime(createdAtMs),
    members: members.map(({ name, bytes, sha256 }) => ({ name, size: bytes, sha256 })),
    counts: { ...counts },
  }
}

function toDifferenceResponse({ tables, configuration }: ArchiveDifference): ReplyOf<Known['compare_backups']>['data'] {
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
