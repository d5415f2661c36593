// Imports an archive. First everything in it is checked, then the whole configuration is tried, and only then anything is changed. From
// then on the parts are independent, because clients may already have seen a change.
//
//   whole archive read ──► allowed? ──► configuration tried ──► files ──► configuration ──► tables
//   │ damaged              │ no         │ errors                failures are reported by part; the rest is applied
//   ▼                      ▼            ▼
//   refused: nothing has changed

import {
  accountTables,
  type CheckedArchive,
  folderOfArchive,
  ownProduct,
  problemOfArchive,
  type Profile,
  type TableName,
  tableNames,
  tableSets,
} from '../../backup/index.ts'
import { type ConfigObject, formatConfigError, fromPlain, type PlainValue, toPlain } from '../../config/index.ts'
import { type BackupRefusal, type BackupScope, quoted, refusal } from './backup-folder.ts'
import { type ConfigurationChange, previewChanges } from './preview-changes.ts'
import { type TableChange, importTables, type TableDependencies } from './import-tables.ts'
import type { ConfigManager } from '../configuration/config-manager.ts'
import type { Store } from '../../storage/index.ts'
import { problemOfListenerFiles } from '../listeners/listener-addresses.ts'
import { problemOfBridges } from '../bridges/bridge-config.ts'
import { placeFiles, writePlaced } from './archived-files.ts'
import { takeBrokerSnapshot } from './snapshot.ts'
import { accountSetsIn, checkFile, configurationOf, maxLineBytes, type OpenArchive } from './check-file.ts'
import { isWellKnownPassword } from '../admins/well-known-passwords.ts'
import { WellKnownSecrets } from './well-known-secrets.ts'
import { ImportPreview } from './import-preview.ts'
import {
  configurationOfNamespace,
  ownChange,
  refusalOfNamespaceFiles,
  scopedConfiguration,
  withoutScope,
} from './namespace-configuration.ts'
import { piecesOf } from './open-file.ts'
import { AdminCheck } from './admin-check.ts'

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
  const parts = partsOf(options.request)
  if ('symbol' in parts) return parts
  const plan: Plan = { ...options, ...parts }
  const previewed = plan.request.isDryRun ? new ImportPreview(dependencies.accessRecords) : undefined
  const adminCheck = new AdminCheck()
  const wellKnown = new WellKnownSecrets()
  const { maxPacketBytes } = limitsOf(dependencies)
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
  const refused = refusalOf(dependencies, plan, checked)
  if (refused !== undefined) return refused
  const prepared = prepareConfiguration(dependencies, plan, checked)
  if ('symbol' in prepared) return prepared
  const problem = adminCheck.problem(dependencies.accessRecords, prepared.ownName)
  if (problem !== undefined) return refusal('BAD_REQUEST', `nothing has been changed: ${problem}`)
  const isHardened = dependencies.configuration.config.node.securityProfile === 'hardened'
  const warnings = [...prepared.warnings, ...unknownIn(checked), ...(isHardened ? await wellKnown.describe() : [])]
  if (previewed !== undefined) {
    const tables = await previewed.conclude(takeBrokerSnapshot(dependencies)['retained-messages'])
    return { isDryRun: true, tables, configuration: prepared.changes, warnings }
  }
  return carryOut(dependencies, plan, { archive, checked, prepared, warnings })
}

export function limitsOf({ configuration }: Pick<ImportDependencies, 'configuration'>): {
  readonly maxPacketBytes: number
} {
  return { maxPacketBytes: configuration.config.core.maxPacketBytes }
}

/** Returns the parts that a request names. */
function partsOf({ parts }: ImportRequest): Pick<Plan, 'tables' | 'hasConfiguration' | 'hasFiles'> | BackupRefusal {
  if (parts === undefined) return { tables: tableNames, hasConfiguration: true, hasFiles: true }
  const known = [...Object.keys(tableSets), 'configuration', 'files']
  const unknown = parts.filter((part) => !known.includes(part))
  if (unknown.length > 0 || parts.length === 0) {
    const unknownNames = unknown.map((part) => quoted(part)).join(', ')
    return refusal('BAD_REQUEST', `Invalid parts: ${unknownNames}. There are ${known.join(', ')}`)
  }
  return {
    tables: parts.flatMap((part) => (Object.hasOwn(tableSets, part) ? tableSets[part] : [])),
    hasConfiguration: parts.includes('configuration'),
    hasFiles: parts.includes('files'),
  }
}

/** Returns why this broker must not import the archive, or not for this caller. */
export function refusalOf(
  { version, configuration }: Pick<ImportDependencies, 'version' | 'configuration'>,
  { scope, request, tables }: Pick<Plan, 'scope' | 'request' | 'tables'>,
  checked: CheckedArchive,
): BackupRefusal | undefined {
  const { meta } = checked
  const foreign = problemOfArchive(checked, version)
  if (foreign !== undefined) return refusal('BAD_REQUEST', foreign)
  if (meta.namespace !== scope.namespace) {
    const message = `the archive is of ${wholeOrPart(meta.namespace)} and cannot be imported for ${wholeOrPart(scope.namespace)}`
    return refusal(scope.namespace === undefined ? 'BAD_REQUEST' : 'FORBIDDEN', message)
  }
  if (scope.namespace !== undefined)
    return refusalInNamespace(configuration, { ...scope, namespace: scope.namespace }, checked)
  if (checked.configurationNamespace !== undefined) {
    const whose = wholeOrPart(checked.configurationNamespace)
    return refusal('BAD_REQUEST', `the archive is of the whole broker, and its configuration is of ${whose}`)
  }
  const hasAccounts = tables.some((table) => accountTables.includes(table))
  const hasConfiguration = request.parts === undefined || request.parts.includes('configuration')
  const wanted = (set: string): boolean => (set === 'http_server' ? hasConfiguration : hasAccounts)
  const sets = scope.mayManageAccounts ? [] : accountSetsIn(checked).filter(wanted)
  if (sets.length > 0) return forbiddenFor(sets)
  const own = configuration.config.node.securityProfile
  if (own === 'hardened' && profileOf(checked) === 'legacy' && !request.allowsProfileMismatch) {
    const message =
      'the archive has the security profile legacy, and this broker has hardened: it may refuse clients that the exporting broker accepted. Allow it with allow_security_profile_mismatch'
    return refusal('BAD_REQUEST', message)
  }
  return undefined
}

/** Checks an archive for a namespace. A caller of a namespace may have edited it. */
function refusalInNamespace(
  { written }: Pick<ConfigManager, 'written'>,
  { namespace, by }: BackupScope & { readonly namespace: string },
  checked: CheckedArchive,
): BackupRefusal | undefined {
  const { counts, files, configuration, configurationNamespace } = checked
  const isOther = configuration !== undefined && configurationNamespace !== namespace
  if (counts.size > 0 || files.size > 0 || isOther) {
    const message =
      'an archive of a namespace contains only its configuration, and no tables and files: a global administrator can import this one'
    return refusal('FORBIDDEN', message)
  }
  const read = configurationOf(checked)
  if ('problem' in read) return refusal('BAD_REQUEST', read.problem)
  const { plain = {} } = read
  const scoped = scopedConfiguration(plain, namespace)
  if ('problem' in scoped) return refusal('FORBIDDEN', scoped.problem)
  if (by.namespace === undefined) return undefined
  const refused = refusalOfNamespaceFiles(plain, configurationOfNamespace(toPlain(written.values), namespace))
  return refused === undefined ? undefined : refusal('FORBIDDEN', refused)
}

function wholeOrPart(namespace: string | undefined): string {
  return namespace === undefined ? 'the whole broker' : `the namespace ${quoted(namespace)}`
}

export function forbiddenFor(sets: readonly string[]): BackupRefusal {
  const message = `the archive contains ${sets.join(', ')}, which only an administrator who logs in with a password may import`
  return refusal('FORBIDDEN', message)
}

/** Returns the security profile of the exporting broker. Archives of versions without profiles have none: it was `legacy`. */
export function profileOf({ meta }: Pick<CheckedArchive, 'meta'>): Profile {
  return meta.profile ?? 'legacy'
}

function unknownIn({ unknown, meta }: CheckedArchive): readonly string[] {
  if (unknown.length === 0) return []
  const whose = meta.product === ownProduct ? '' : ', which another product has written,'
  return [`${unknown.length} members${whose} are ignored: ${unknown.slice(0, 10).join(', ')}`]
}

/** Returns why the configuration in an archive can never be applied here; undefined: it can, or there is none. */
export function problemOfConfiguration(
  dependencies: ImportDependencies,
  checked: CheckedArchive,
): BackupRefusal | undefined {
  const read = readConfiguration(dependencies, checked)
  if ('symbol' in read) return read
  const { settings, texts } = read
  const previewed = dependencies.configuration.previewSettings(settings, { texts, passesOverFiles: true })
  return 'live' in previewed ? undefined : refuseConfiguration(previewed.message, checked)
}

interface Prepared {
  /** Name of the account of `http_server` after the import. */
  readonly ownName: string
  readonly settings: ConfigObject | undefined
  readonly placed: ReadonlyMap<string, Buffer>
  readonly changes: readonly ConfigurationChange[]
  readonly warnings: readonly string[]
}

/** Tries the whole new configuration, with files that do not exist yet. */
function prepareConfiguration(
  dependencies: ImportDependencies,
  plan: Plan,
  checked: CheckedArchive,
): Prepared | BackupRefusal {
  const read = readConfiguration(dependencies, checked)
  if ('symbol' in read) return read
  const { settings, placed, texts, warnings } = read
  const { config: before } = dependencies.configuration
  const files = plan.hasFiles || plan.hasConfiguration ? placed : new Map<string, Buffer>()
  if (!plan.hasConfiguration) {
    return { settings: undefined, placed: files, changes: [], warnings: [], ownName: before.http.username }
  }
  const previewed = dependencies.configuration.previewSettings(settings, { texts })
  if (!('live' in previewed)) return refuseConfiguration(previewed.message, checked)
  const unfit =
    problemOfListenerFiles(previewed.config, before, placed) ?? problemOfBridges(previewed.config, before, placed)
  if (unfit !== undefined) return refuseConfiguration(unfit, checked)
  const credentials = checked.counts.get('credentials') ?? 0
  const expected = previewChanges({
    before,
    after: previewed.config,
    archiveProfile: profileOf(checked),
    credentials,
  })
  const changes = [
    ...previewed.live.map(({ key, old, new: now }) => ({ key, old, new: now, needsRestart: false })),
    ...previewed.needsRestart.map(({ key, old, new: now }) => ({ key, old, new: now, needsRestart: true })),
  ]
  const ownName = previewed.config.http.username
  const { namespace } = checked.meta
  const shown = namespace === undefined ? changes : changes.map((change) => ownChange(change, namespace))
  return { settings, placed: files, changes: shown, warnings: [...warnings, ...expected], ownName }
}

function refuseConfiguration(message: string, checked: CheckedArchive): BackupRefusal {
  return refusal('BAD_REQUEST', `the configuration of the archive cannot be used here: ${ownText(message, checked)}`)
}

/** Returns the text for a caller of a namespace: without the namespace in names of settings. */
function ownText(text: string, { meta: { namespace } }: Pick<CheckedArchive, 'meta'>): string {
  return namespace === undefined ? text : withoutScope(text, namespace)
}

interface ReadConfiguration extends Pick<Prepared, 'placed' | 'warnings'> {
  readonly settings: ConfigObject
  /** Contents of the files in `placed`. */
  readonly texts: ReadonlyMap<string, string>
}

/** Returns the parts of the archive's configuration that apply to this broker. */
function readConfiguration(
  dependencies: ImportDependencies,
  checked: CheckedArchive,
): ReadConfiguration | BackupRefusal {
  const read = configurationOf(checked)
  if ('problem' in read) return refusal('BAD_REQUEST', read.problem)
  const { plain = {} } = read
  const { namespace } = checked.meta
  const inBroker = namespace === undefined ? { scoped: plain } : scopedConfiguration(plain, namespace)
  if ('problem' in inBroker) return refusal('FORBIDDEN', inBroker.problem)
  const { configuration, placed, missing } = placeFiles(inBroker.scoped, { ...dependencies, files: checked.files })
  if (missing.length > 0) {
    return refusal('BAD_REQUEST', `the configuration names files that are not in the archive: ${missing.join(', ')}`)
  }
  const own = withoutOwn(dependencies.configuration, configuration as Readonly<Record<string, PlainValue>>)
  const { kept, warnings } = withoutWellKnownPassword(dependencies.configuration, own)
  const made = fromPlain(kept, 'cluster.hocon')
  if ('errors' in made) return refusal('BAD_REQUEST', made.errors.map(formatConfigError).join('\n'))
  const texts = new Map([...placed].map(([path, content]) => [path, content.toString('utf8')]))
  return { settings: made.value, placed, texts, warnings: warnings.map((warning) => ownText(warning, checked)) }
}

interface ConfigurationForHere {
  readonly kept: Readonly<Record<string, PlainValue>>
  readonly warnings: readonly string[]
}

/** On a hardened node a well-known password must not be restored, not even for loopback. The current one stays. */
function withoutWellKnownPassword(
  { config }: ConfigManager,
  { kept, warnings }: ConfigurationForHere,
): ConfigurationForHere {
  const { http_server: section } = kept
  if (config.node.securityProfile !== 'hardened' || !isGroup(section)) return { kept, warnings }
  const { password, ...others } = section
  const username = typeof section['username'] === 'string' ? section['username'] : config.http.username
  if (typeof password !== 'string' || !isWellKnownPassword(username, password)) return { kept, warnings }
  const warning = `http_server.password is not restored, as it is a well-known password: if ${username} cannot log in then, use godwit ctl admins reset ${username}`
  return { kept: { ...kept, http_server: others }, warnings: [...warnings, warning] }
}

function isGroup(value: PlainValue | undefined): value is Readonly<Record<string, PlainValue>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Removes settings that belong to the host, and settings that `--set` sets here. */
function withoutOwn(live: ConfigManager, configuration: Readonly<Record<string, PlainValue>>): ConfigurationForHere {
  const ignored: string[] = []
  const walk = (value: PlainValue, path: readonly string[]): PlainValue | undefined => {
    const isOwn = path[0] === 'node' || (path[0] === 'log' && path[1] === 'dir')
    const isLeaf = value === null || typeof value !== 'object' || Array.isArray(value)
    if (isLeaf && (isOwn || live.isPinned(path))) {
      ignored.push(path.join('.'))
      return undefined
    }
    if (isLeaf) return value
    const kept = Object.create(null) as Record<string, PlainValue>
    for (const [key, part] of Object.entries(value)) {
      const walked = walk(part, [...path, key])
      if (walked !== undefined) kept[key] = walked
    }
    // A group that became empty is removed. A group that was empty in the archive stays: it is a setting.
    return Object.keys(kept).length === 0 && Object.keys(value).length > 0 ? undefined : kept
  }
  const kept = (walk(configuration, []) ?? {}) as Readonly<Record<string, PlainValue>>
  const warnings =
    ignored.length === 0
      ? []
      : [`not imported: ${ignored.join(', ')}. These settings are set with --set, or belong to the host of the broker`]
  return { kept, warnings }
}

async function carryOut(
  dependencies: ImportDependencies,
  plan: Plan,
  found: {
    readonly archive: OpenArchive
    readonly checked: CheckedArchive
    readonly prepared: Prepared
    readonly warnings: readonly string[]
  },
): Promise<ImportOutcome | BackupRefusal> {
  const { archive, prepared } = found
  const failures: Record<string, string> = {}
  plan.onProgress('configuration', 0)
  try {
    await writePlaced(prepared.placed)
    const failure = await changeConfiguration(dependencies, plan, prepared)
    if (failure !== undefined) failures['configuration'] = ownText(failure, found.checked)
  } catch (error) {
    failures['files'] = (error as Error).message
  }
  const { maxPacketBytes } = limitsOf(dependencies)
  const tables = await importTables(
    dependencies,
    {
      content: piecesOf(archive.handle),
      folder: folderOfArchive(archive.filename),
      maxLineBytes: maxLineBytes(maxPacketBytes),
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
  { settings }: Prepared,
): Promise<string | undefined> {
  if (settings === undefined) return undefined
  const outcome = await configuration.change(settings, { author: scope.by, persists: true, name: 'data/import' })
  return outcome.isDone ? undefined : outcome.message
}

function refuseParts(failures: Readonly<Record<string, string>>, changes: readonly TableChange[]): BackupRefusal {
  const done = changes.reduce((sum, { inserts, updates }) => sum + inserts + updates, 0)
  const words = Object.entries(failures).map(([part, why]) => `${part}: ${why}`)
  return refusal(
    'BAD_REQUEST',
    `some parts failed, and the others were imported (${done} records): ${words.join('; ')}`,
    failures,
  )
}
