// Exports a snapshot of the running broker to an archive.

import { createHash } from 'node:crypto'
import { type MemberToWrite, writeArchive } from '../../archives/index.ts'
import {
  configurationMember,
  type MemberDigest,
  metaMember,
  ownFormat,
  ownProduct,
  type Profile,
  type TableName,
  tableNames,
  writeMeta,
} from '../../backup/index.ts'
import type { PlainValue } from '../../config/index.ts'
import { type BackupFile, type BackupRefusal, archiveSuffix, type BackupFolder } from './backup-folder.ts'
import type { AccessRecords } from '../records/stored-access-records.ts'
import { ReadingInterrupted, type Store } from '../../storage/index.ts'
import { gatherFiles, type GatheredFiles } from './archived-files.ts'
import { selectNamespaceConfiguration } from './namespace-configuration.ts'
import { type BackedUpPlugins, takeBrokerSnapshot } from './snapshot.ts'
import { createWritable } from './open-file.ts'
import { TableSpool } from './table-spool.ts'

export interface ExportDependencies {
  /** Absolute. */
  readonly dataDirectory: string
  readonly folder: BackupFolder
  readonly store: Pick<Store, 'read'>
  readonly accessRecords: AccessRecords
  readonly plugins: BackedUpPlugins
  readonly version: string
  readonly readProfile: () => Profile
  /** The configuration as it is written, and its folder. */
  readonly readConfiguration: () => { readonly written: PlainValue; readonly folder: string }
}

export interface ExportPlan {
  readonly namespace: string | undefined
  readonly tables: readonly TableName[]
  /** Sections of the configuration. undefined: all. */
  readonly rootKeys: readonly string[] | undefined
  /** Whether it includes the account of `http_server` and the authentication settings of the API. */
  readonly hasAccounts: boolean
  /** Prefix of the name. */
  readonly prefix: string
  readonly onProgress: (part: string, done: number, total?: number) => void
}

/** Maximum attempts if the store is reopened meanwhile. */
const maxAttempts = 3

/** Resolves when it is durable under its name. Rejects with StorageFailure and errors of the system. */
export async function exportArchive(
  dependencies: ExportDependencies,
  plan: ExportPlan,
): Promise<BackupFile | BackupRefusal> {
  const createdAtMs = Date.now()
  const base = `${plan.prefix}-export-${formatTimestamp(new Date(createdAtMs))}`
  const unfinished = await dependencies.folder.begin(plan, `${base}${archiveSuffix}`)
  if ('symbol' in unfinished) return unfinished
  const scratch = await dependencies.folder.createTemporaryFile()
  try {
    const members = await createMembers(dependencies, plan, {
      createdAtMs,
      newSpool: () => new TableSpool(scratch.handle),
    })
    plan.onProgress('archive', 0)
    await writeArchive(createWritable(unfinished.handle), { folder: base, createdAtMs, members })
    return await unfinished.publish()
  } finally {
    await scratch.discard()
    await unfinished.discard()
  }
}

/** `2026-11-21-03-30-00.000`, in the time zone of this machine. */
function formatTimestamp(date: Date): string {
  const day = `${date.getFullYear()}-${padTwoDigits(date.getMonth() + 1)}-${padTwoDigits(date.getDate())}`
  const time = `${padTwoDigits(date.getHours())}-${padTwoDigits(date.getMinutes())}-${padTwoDigits(date.getSeconds())}`
  return `${day}-${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

const padTwoDigits = (part: number): string => String(part).padStart(2, '0')

interface Marked {
  readonly member: MemberToWrite
  readonly sha256: string
}

async function createMembers(
  dependencies: ExportDependencies,
  plan: ExportPlan,
  { createdAtMs, newSpool: createSpool }: { readonly createdAtMs: number; readonly newSpool: () => TableSpool },
): Promise<readonly MemberToWrite[]> {
  plan.onProgress('readConfiguration', 0)
  const moment = takeSnapshot(dependencies, plan)
  const { tables, counts } = await spoolTables(dependencies, plan, { spool: createSpool(), moment, createSpool })
  const marked = [...moment.configuration, ...tables]
  const meta = writeMeta({
    product: ownProduct,
    format: ownFormat,
    version: dependencies.version,
    edition: 'ce',
    profile: dependencies.readProfile(),
    createdAtMs,
    namespace: plan.namespace,
    counts,
    members: marked.map(({ member: { name, bytes }, sha256 }): MemberDigest => ({ name, bytes, sha256 })),
  })
  return [createSmallMember(metaMember, meta).member, ...marked.map(({ member }) => member)]
}

/** Configuration and records of the same time. */
function takeSnapshot(dependencies: ExportDependencies, plan: ExportPlan) {
  const records = plan.tables.length === 0 ? undefined : takeBrokerSnapshot(dependencies)
  return { records, configuration: createConfigurationMembers(dependencies, plan) }
}

async function spoolTables(
  dependencies: ExportDependencies,
  plan: ExportPlan,
  {
    spool,
    moment,
    createSpool,
  }: { spool: TableSpool; moment: Pick<ReturnType<typeof takeSnapshot>, 'records'>; createSpool: () => TableSpool },
  attempt = 1,
): Promise<{ readonly tables: readonly Marked[]; readonly counts: Readonly<Record<string, number>> }> {
  const tables: Marked[] = []
  const counts: Record<string, number> = {}
  const { records } = moment
  if (records === undefined) return { tables, counts }
  try {
    for (const table of tableNames.filter((name) => plan.tables.includes(name))) {
      const some = records[table]
      const total = Array.isArray(some) ? some.length : undefined
      const added = await spool.add(table, some, (count) => plan.onProgress(table, count, total))
      tables.push(added)
      counts[table] = added.count
    }
    return { tables, counts }
  } catch (error) {
    if (!(error instanceof ReadingInterrupted) || attempt >= maxAttempts) throw error
    return spoolTables(
      dependencies,
      plan,
      { spool: createSpool(), moment: takeSnapshot(dependencies, plan), createSpool: createSpool },
      attempt + 1,
    )
  }
}

/** Settings that belong to the machine. */
const machineSections: readonly (readonly [section: string, key: string])[] = [
  ['node', 'name'],
  ['node', 'data_dir'],
  ['log', 'dir'],
]

const account: readonly (readonly [section: string, key: string])[] = [
  ['http_server', 'username'],
  ['http_server', 'password'],
  ['http_server', 'auth_type'],
  ['http_server', 'jwt'],
]

/** The configuration for the archive, with its files. */
export function collectConfiguration(
  { readConfiguration: written, dataDirectory }: Pick<ExportDependencies, 'readConfiguration' | 'dataDirectory'>,
  { rootKeys, hasAccounts }: Pick<ExportPlan, 'rootKeys' | 'hasAccounts'>,
): GatheredFiles {
  const { written: whole, folder } = written()
  const left = omitKeys(whole, hasAccounts ? machineSections : [...machineSections, ...account])
  const wanted = Object.entries(left).filter(([key]) => rootKeys?.includes(key) ?? true)
  return gatherFiles(Object.fromEntries(wanted), { dataDirectory, folder })
}

/** The configuration of a namespace for its archive, without files: it has none of its own. */
export function selectNamespace(
  { readConfiguration }: Pick<ExportDependencies, 'readConfiguration'>,
  namespace: string,
  rootKeys?: readonly string[],
): PlainValue {
  return selectNamespaceConfiguration(readConfiguration().written, namespace, rootKeys)
}

function createConfigurationMembers(dependencies: ExportDependencies, plan: ExportPlan): Marked[] {
  if (plan.namespace !== undefined) {
    const own = selectNamespace(dependencies, plan.namespace, plan.rootKeys)
    const text = Buffer.from(`${JSON.stringify(own, null, 2)}\n`)
    return [createSmallMember(`ns/${plan.namespace}/${configurationMember}`, text)]
  }
  if (plan.rootKeys?.length === 0) return []
  const { configuration, files } = collectConfiguration(dependencies, plan)
  const text = Buffer.from(`${JSON.stringify(configuration, null, 2)}\n`)
  const named = [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return [
    createSmallMember(configurationMember, text),
    ...named.map(([name, content]) => createSmallMember(`files/${name}`, content)),
  ]
}

function omitKeys(
  written: PlainValue,
  keys: readonly (readonly [section: string, key: string])[],
): Readonly<Record<string, PlainValue>> {
  const whole = { ...(written as Readonly<Record<string, PlainValue>>) }
  for (const [section, key] of keys) {
    const part = whole[section]
    if (typeof part !== 'object' || part === null || Array.isArray(part)) continue
    const { [key]: _, ...rest } = part as Readonly<Record<string, PlainValue>>
    if (Object.keys(rest).length > 0) whole[section] = rest
    else delete whole[section]
  }
  return whole
}

function createSmallMember(name: string, content: Buffer): Marked {
  const member = { name, bytes: content.length, readContent: () => [content] }
  return { member, sha256: createHash('sha256').update(content).digest('hex') }
}
