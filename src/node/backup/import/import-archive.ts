// Imports an archive. First everything in it is checked, then the whole configuration is tried, and only then anything is changed. From
// then on the parts are independent, because clients may already have seen a change.
//
//   whole archive read ──► allowed? ──► configuration tried ──► files ──► configuration ──► tables
//   │ damaged              │ no         │ errors                failures are reported by part; the rest is applied
//   ▼                      ▼            ▼
//   refused: nothing has changed

import { toArchiveFolder } from '../../../archives/index.ts'
import { type CheckedArchive, ownProduct, type TableName, tableNames, tableSets } from '../../../backup/index.ts'
import { type BackupRefusal, type BackupScope, quoteName, createRefusal } from '../backup-folder.ts'
import type { ConfigurationChange } from '../preview-changes.ts'
import { type TableChange, importTables, type TableDependencies } from './import-tables.ts'
import type { ConfigManager } from '../../configuration/config-manager.ts'
import type { Store } from '../../../storage/index.ts'
import { writePlaced } from '../archived-files.ts'
import { takeBrokerSnapshot } from '../snapshot.ts'
import { checkFile, computeMaxLineBytes, type OpenArchive } from '../check-file.ts'
import { omitNamespace, prepareConfiguration, type PreparedConfiguration } from './import-configuration.ts'
import { checkArchive } from './import-permission.ts'
import { WellKnownSecrets } from '../well-known-secrets.ts'
import { ImportPreview } from './import-preview.ts'
import { readPieces } from '../open-file.ts'
import { AdminCheck } from '../admin-check.ts'

export interface ImportRequest {
  /** A file in the backup directory, or an absolute path if `by` is the control socket. */
  readonly filename: string
  /** Checks everything and changes nothing. */
  readonly isDryRun: boolean
  readonly allowsProfileMismatch: boolean
  /** Table sets such as `builtin_authn`, and `configuration`, `files`. undefined: all that the archive contains. */
  readonly parts: readonly string[] | undefined
}

export interface ImportOutcome {
  readonly isDryRun: boolean
  readonly tables: readonly TableChange[]
  readonly configuration: readonly ConfigurationChange[]
  /** Unexpected effects, a sentence each. */
  readonly warnings: readonly string[]
}

export interface ImportDependencies extends TableDependencies {
  readonly dataDirectory: string
  readonly store: Pick<Store, 'read'>
  readonly configuration: ConfigManager
  readonly version: string
}

interface Plan {
  readonly scope: BackupScope
  readonly request: ImportRequest
  readonly tables: readonly TableName[]
  readonly hasConfiguration: boolean
  readonly hasFiles: boolean
  readonly onProgress: (part: string, done: number, total?: number) => void
}

/** Checks and imports an archive. The file stays open. Rejects with errors of the operating system and StorageFailure. */
export async function importArchive(
  dependencies: ImportDependencies,
  archive: OpenArchive,
  options: {
    readonly scope: BackupScope
    readonly request: ImportRequest
    readonly onProgress: (part: string, done: number, total?: number) => void
  },
): Promise<ImportOutcome | BackupRefusal> {
  const parts = selectParts(options.request)
  if ('symbol' in parts) return parts
  const mayInstall = mayInstallPlugins(dependencies, options.scope)
  const tables = mayInstall ? parts.tables : parts.tables.filter((table) => table !== 'plugins')
  const plan: Plan = { ...options, ...parts, tables }
  const previewed = plan.request.isDryRun
    ? new ImportPreview(dependencies.accessRecords, dependencies.plugins)
    : undefined
  const adminCheck = new AdminCheck()
  const wellKnown = new WellKnownSecrets()
  const { maxPacketBytes } = readLimits(dependencies)
  const checked = await checkFile(archive, {
    maxPacketBytes,
    onRecord: (table, record) => {
      if (!plan.tables.includes(table)) return
      adminCheck.add(record)
      wellKnown.add(record)
      previewed?.take(table, record)
    },
    onProgress: (part, done, total) => plan.onProgress(`check of ${part}`, done, total),
  })
  if ('symbol' in checked) return checked
  const refused = checkArchive(dependencies, plan, checked)
  if (refused !== undefined) return refused
  const prepared = prepareConfiguration(dependencies, plan, checked)
  if ('symbol' in prepared) return prepared
  const problem = adminCheck.findProblem(dependencies.accessRecords, prepared.ownName)
  if (problem !== undefined) return createRefusal('BAD_REQUEST', `nothing has been changed: ${problem}`)
  const isHardened = dependencies.configuration.config.node.securityProfile === 'hardened'
  const warnings = [
    ...prepared.warnings,
    ...describeUnknownMembers(checked),
    ...(mayInstall || !parts.tables.includes('plugins') ? [] : describeSkippedPlugins(checked)),
    ...(isHardened ? await wellKnown.describe() : []),
  ]
  if (previewed !== undefined) {
    const tables = await previewed.conclude(takeBrokerSnapshot(dependencies)['retained-messages'])
    return { isDryRun: true, tables, configuration: prepared.changes, warnings }
  }
  return carryOut(dependencies, plan, { archive, checked, prepared, warnings })
}

export function readLimits({ configuration }: Pick<ImportDependencies, 'configuration'>): {
  readonly maxPacketBytes: number
} {
  const { core, plugins } = configuration.config
  // A record of a plugin has its archive, as one of a retained message has its payload.
  return { maxPacketBytes: Math.max(core.maxPacketBytes, plugins.maxArchiveBytes) }
}

/** As for an installation: an account, and a setting that the API cannot change. */
function mayInstallPlugins(
  { plugins }: Pick<ImportDependencies, 'plugins'>,
  { mayManageAccounts, by }: BackupScope,
): boolean {
  return mayManageAccounts && by.by !== 'token' && (plugins.allowsInstall || by.by === 'socket')
}

function describeSkippedPlugins({ counts }: CheckedArchive): readonly string[] {
  const count = counts.get('plugins') ?? 0
  if (count === 0) return []
  return [
    `${count} plugins are not imported: the account of a global administrator can, if plugins.allow_install is true`,
  ]
}

/** Returns the parts that a request names. */
function selectParts({ parts }: ImportRequest): Pick<Plan, 'tables' | 'hasConfiguration' | 'hasFiles'> | BackupRefusal {
  if (parts === undefined) return { tables: tableNames, hasConfiguration: true, hasFiles: true }
  const known = [...Object.keys(tableSets), 'configuration', 'files']
  const unknown = parts.filter((part) => !known.includes(part))
  if (unknown.length > 0 || parts.length === 0) {
    const unknownNames = unknown.map((part) => quoteName(part)).join(', ')
    return createRefusal('BAD_REQUEST', `Invalid parts: ${unknownNames}. There are ${known.join(', ')}`)
  }
  return {
    tables: parts.flatMap((part) => (Object.hasOwn(tableSets, part) ? tableSets[part] : [])),
    hasConfiguration: parts.includes('configuration'),
    hasFiles: parts.includes('files'),
  }
}

function describeUnknownMembers({ unknown, meta }: CheckedArchive): readonly string[] {
  if (unknown.length === 0) return []
  const whose = meta.product === ownProduct ? '' : ', which another product has written,'
  return [`${unknown.length} members${whose} are ignored: ${unknown.slice(0, 10).join(', ')}`]
}

async function carryOut(
  dependencies: ImportDependencies,
  plan: Plan,
  found: {
    readonly archive: OpenArchive
    readonly checked: CheckedArchive
    readonly prepared: PreparedConfiguration
    readonly warnings: readonly string[]
  },
): Promise<ImportOutcome | BackupRefusal> {
  const { archive, prepared } = found
  const failures: Record<string, string> = {}
  plan.onProgress('configuration', 0)
  try {
    await writePlaced(prepared.placed)
    const failure = await changeConfiguration(dependencies, plan, prepared)
    if (failure !== undefined) failures['configuration'] = omitNamespace(failure, found.checked)
  } catch (error) {
    failures['files'] = (error as Error).message
  }
  const { maxPacketBytes } = readLimits(dependencies)
  const tables = await importTables(
    dependencies,
    {
      content: readPieces(archive.handle),
      folder: toArchiveFolder(archive.filename),
      maxLineBytes: computeMaxLineBytes(maxPacketBytes),
    },
    {
      tables: plan.tables,
      onProgress: (table, done) => plan.onProgress(table, done, found.checked.counts.get(table)),
    },
  )
  Object.assign(failures, tables.failures)
  if (Object.keys(failures).length > 0) return refuseParts(failures, tables.changes)
  const { changes: configuration } = prepared
  return { isDryRun: false, tables: tables.changes, configuration, warnings: found.warnings }
}

async function changeConfiguration(
  { configuration }: ImportDependencies,
  { scope }: Plan,
  { settings }: PreparedConfiguration,
): Promise<string | undefined> {
  if (settings === undefined) return undefined
  const outcome = await configuration.change(settings, { author: scope.by, persists: true, name: 'data/import' })
  return outcome.isDone ? undefined : outcome.message
}

function refuseParts(failures: Readonly<Record<string, string>>, changes: readonly TableChange[]): BackupRefusal {
  const done = changes.reduce((sum, { inserts, updates }) => sum + inserts + updates, 0)
  const words = Object.entries(failures).map(([part, why]) => `${part}: ${why}`)
  return createRefusal(
    'BAD_REQUEST',
    `some parts failed, and the others were imported (${done} records): ${words.join('; ')}`,
    failures,
  )
}
