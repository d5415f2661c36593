// Imports the tables of an archive as live changes: records of the node are changed and passed to every shard; retained
// messages go to the shards that own their topics.

import { readArchiveMembers } from '../../../archives/index.ts'
import {
  toBackupForm,
  readLines,
  formatRecordName,
  parseRecordLine,
  type TableName,
  findMemberTable,
  type TableRecord,
  writeRow,
} from '../../../backup/index.ts'
import { type ImportedMessages, computeTopicShard } from '../../../core/index.ts'
import type { RetainedRecord } from '../../../records/index.ts'
import type { RetainedToImport } from '../../../shard/index.ts'
import type { AccessRecords, NodeRecord } from '../../records/stored-access-records.ts'
import type { ShadowedCredentials } from '../../records/shadowed-credentials.ts'
import type { ShardSupervisor } from '../../shards/shard-supervisor.ts'
import type { BackedUpPlugins } from '../snapshot.ts'

/** Changes of a table. */
export interface TableChange {
  readonly table: string
  /** Number of entries that the broker does not have. */
  readonly inserts: number
  /** Number of entries that the broker has with other values. */
  readonly updates: number
  /** Number of entries that the broker has with equal values. */
  readonly unchanged: number
  /** Names of the first entries that exist and differ. */
  readonly conflicts: readonly string[]
}

/** Maximum number of records in one change: a larger change would block the event loops of the shards. */
const maxRecordsPerWrite = 500
/** Maximum number of retained messages in one command to a shard. */
const maxMessagesPerWrite = 500
const maxBytesPerWrite = 1_048_576
const maxWritesInProgress = 4
/** Maximum names of conflicts in the result. */
export const maxConflictsReported = 10

export interface TableDependencies {
  readonly supervisor: Pick<ShardSupervisor, 'query' | 'size'>
  readonly accessRecords: AccessRecords
  readonly shadowedCredentials: ShadowedCredentials
  readonly plugins: BackedUpPlugins
}

/** A part of the archive could not be imported. The message is for administrators. */
export class PartFailure extends Error {}

type Counted = { -readonly [Key in keyof TableChange]: TableChange[Key] } & { conflicts: string[] }

export function createEmptyCounts(table: TableName): Counted {
  return { table, inserts: 0, updates: 0, unchanged: 0, conflicts: [] }
}

/** Returns the effect of a record. */
export function previewRecord(
  records: AccessRecords,
  table: TableName,
  record: NodeRecord,
): 'inserts' | 'updates' | 'unchanged' {
  const before = records.find(record)
  if (before === undefined) return 'inserts'
  return writeRow(table, before) === writeRow(table, record) ? 'unchanged' : 'updates'
}

export function recordConflict(change: Counted, record: TableRecord): void {
  if (change.conflicts.length < maxConflictsReported) change.conflicts.push(formatRecordName(record))
}

/**
 * Imports one table after the other. A table that fails is skipped from there on; its imported records remain. Throws
 * only for an invalid archive, which was checked before.
 */
export async function importTables(
  dependencies: TableDependencies,
  archive: { readonly content: AsyncIterable<Buffer>; readonly folder: string; readonly maxLineBytes: number },
  plan: {
    readonly tables: readonly TableName[]
    readonly onProgress: (table: TableName, done: number) => void
  },
): Promise<{ readonly changes: readonly TableChange[]; readonly failures: Readonly<Record<string, string>> }> {
  const changes: TableChange[] = []
  const failures: Record<string, string> = {}
  for await (const member of readArchiveMembers(archive.content, toBackupForm(archive.folder))) {
    const table = findMemberTable(member.name)
    if (table === undefined || !plan.tables.includes(table)) continue
    const importer = createImporter(dependencies, table)
    try {
      let number = 0
      for await (const lines of readLines(member.readContent(), {
        name: member.name,
        maxBytes: archive.maxLineBytes,
      })) {
        for (const line of lines) {
          await importer.take(parseRecordLine(table, line, { member: member.name, number: ++number }))
        }
        plan.onProgress(table, number)
      }
      await importer.finish()
    } catch (error) {
      if (!(error instanceof PartFailure)) throw error
      failures[table] = error.message
    }
    changes.push(importer.change)
  }
  return { changes, failures }
}

function createImporter(
  dependencies: TableDependencies,
  table: TableName,
): RecordImporter | RetainedImporter | PluginImporter {
  if (table === 'retained-messages') return new RetainedImporter(dependencies)
  return table === 'plugins' ? new PluginImporter(dependencies) : new RecordImporter(dependencies, table)
}

/** Imports plugins one after the other. One that cannot be imported does not prevent the others. */
class PluginImporter {
  readonly change = createEmptyCounts('plugins')
  readonly #plugins: BackedUpPlugins
  readonly #names: string[] = []
  readonly #problems: string[] = []

  constructor({ plugins }: TableDependencies) {
    this.#plugins = plugins
  }

  async take(record: TableRecord): Promise<void> {
    if (record.kind !== 'plugin') return
    const effect = await this.#plugins.importRecord(record)
    if (typeof effect !== 'string') {
      this.#problems.push(`${formatRecordName(record)}: ${effect.problem}`)
      return
    }
    this.change[effect]++
    if (effect === 'updates') recordConflict(this.change, record)
    this.#names.push(record.name)
  }

  async finish(): Promise<void> {
    await this.#plugins.restoreOrder(this.#names)
    if (this.#problems.length > 0) throw new PartFailure(this.#problems.join('; '))
  }
}

/** Imports records of the node in groups. */
class RecordImporter {
  readonly change: Counted
  readonly #dependencies: TableDependencies
  readonly #table: TableName
  #waiting: NodeRecord[] = []

  constructor(dependencies: TableDependencies, table: TableName) {
    this.#dependencies = dependencies
    this.#table = table
    this.change = createEmptyCounts(table)
  }

  async take(record: TableRecord): Promise<void> {
    if (record.kind === 'retained' || record.kind === 'plugin') return
    this.#waiting.push(record)
    if (this.#waiting.length >= maxRecordsPerWrite) await this.finish()
  }

  async finish(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    const { accessRecords, shadowedCredentials } = this.#dependencies
    let put: NodeRecord[] = []
    try {
      await accessRecords.decide(() => {
        put = waiting.filter((record) => this.#count(record))
        return { put, delete: [] }
      })
    } catch (error) {
      throw new PartFailure(`the write failed: ${(error as Error).message}`)
    }
    for (const record of put) if (record.kind === 'credential') shadowedCredentials.recordStored(record)
  }

  /** Counts the effect of a record. Returns whether the record must be written. */
  #count(record: NodeRecord): boolean {
    const effect = previewRecord(this.#dependencies.accessRecords, this.#table, record)
    this.change[effect]++
    if (effect === 'updates') recordConflict(this.change, record)
    return effect !== 'unchanged'
  }
}

interface RetainedBatch {
  messages: RetainedToImport[]
  payloads: Uint8Array[]
  bytes: number
  /** Earlier batches without a response, oldest first. */
  writesInProgress: Promise<void>[]
}

/**
 * Imports retained messages, each on the shard of its topic: several groups in progress for each, so that none waits
 * for the disk.
 */
class RetainedImporter {
  readonly change = createEmptyCounts('retained-messages')
  readonly #supervisor: TableDependencies['supervisor']
  readonly #batches: readonly RetainedBatch[]
  readonly #refused: string[] = []
  #refusedCount = 0

  constructor({ supervisor }: TableDependencies) {
    this.#supervisor = supervisor
    this.#batches = Array.from({ length: supervisor.size }, () => ({
      messages: [],
      payloads: [],
      bytes: 0,
      writesInProgress: [],
    }))
  }

  async take(record: TableRecord): Promise<void> {
    if (record.kind !== 'retained') return
    const shard = computeTopicShard(record.message.topic, this.#supervisor.size)
    const batch = this.#batches[shard]
    const { payload, properties, ...message } = record.message
    batch.messages.push({ ...message, payloadBytes: payload.length, properties: copyProperties(properties) })
    batch.payloads.push(payload)
    batch.bytes += payload.length
    if (batch.messages.length >= maxMessagesPerWrite || batch.bytes >= maxBytesPerWrite) await this.#send(shard, batch)
  }

  async finish(): Promise<void> {
    for (const [shard, batch] of this.#batches.entries()) await this.#send(shard, batch)
    for (const { writesInProgress } of this.#batches) await Promise.all(writesInProgress)
    if (this.#refusedCount === 0) return
    const topics = this.#refused.join(', ')
    throw new PartFailure(
      `${this.#refusedCount} retained messages were refused, such as those of ${topics}: look at retainer.max_retained_messages, retainer.max_payload_size and mqtt.max_topic_levels`,
    )
  }

  async #send(shard: number, batch: RetainedBatch): Promise<void> {
    if (batch.writesInProgress.length >= maxWritesInProgress) await batch.writesInProgress.shift()
    const { messages, bytes } = batch
    if (messages.length === 0) return
    const payloads = new Uint8Array(bytes)
    let end = 0
    for (const payload of batch.payloads) {
      payloads.set(payload, end)
      end += payload.length
    }
    batch.messages = []
    batch.payloads = []
    batch.bytes = 0
    const importing = this.#importOn(shard, messages, payloads)
    // Later code awaits the promise and handles its failure.
    importing.catch(() => {})
    batch.writesInProgress.push(importing)
  }

  async #importOn(shard: number, messages: readonly RetainedToImport[], payloads: Uint8Array): Promise<void> {
    const result = await this.#supervisor.query(shard, { kind: 'import-retained', messages, payloads })
    if (result === undefined) {
      throw new PartFailure('a shard did not respond: it is unknown which messages it has imported; import again')
    }
    if (!result.done) throw new PartFailure('the write failed: import again when the disk works')
    if (result.kept !== undefined) this.#count(result.kept)
  }

  #count(kept: ImportedMessages): void {
    this.change.inserts += kept.inserted
    this.change.updates += kept.updated
    this.change.unchanged += kept.unchanged + kept.expired
    this.#refusedCount += kept.refused
    const { conflicts } = this.change
    conflicts.push(...kept.updatedTopics.slice(0, Math.max(0, maxConflictsReported - conflicts.length)))
    this.#refused.push(...kept.refusedTopics.slice(0, Math.max(0, maxConflictsReported - this.#refused.length)))
  }
}

/** Copies the correlation data, because sending a view to the shard would copy its whole buffer. */
function copyProperties(properties: RetainedRecord['message']['properties']): RetainedToImport['properties'] {
  if (properties?.correlationData === undefined) return properties
  return { ...properties, correlationData: new Uint8Array(properties.correlationData) }
}
