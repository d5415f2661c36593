// Reads records from one snapshot of a database. Damaged records are skipped and passed to `BadRecords`.

import { computeTopicShard, type ShardPlace, computeOwnerShard } from '../../core/index.ts'
import type { RecordKind, StoredMessage, StoredRecord } from '../../records/index.ts'
import type { BadRecords } from '../damage/bad-records.ts'
import type { PayloadCache } from '../payloads/payload-cache.ts'
import { collectPayloadIds, resolvePayloads } from '../payloads/payload-resolution.ts'
import type { Database, DatabaseEntry, EntryRange, Snapshot } from '../database/entry-database.ts'
import {
  readKeyPayloadId,
  encodePayloadKey,
  isSessionKind,
  encodeGenerationKey,
  readKeyGeneration,
  encodeQueuedKey,
  createKindRange,
  encodeRetainedKey,
  readKeySequence,
  encodeSessionPrefix,
} from '../encoding/record-keys.ts'
import { readPayloadId, readGeneration, readRecord } from '../encoding/record-values.ts'
import { ReferenceCounts } from '../payloads/reference-counts.ts'
import type { Generation } from '../encoding/record-keys.ts'
import type { PayloadReferences, QueueEntry, QueueRange, RecordRange, StorageAlarm } from '../store.ts'

export interface SnapshotReaderOptions {
  readonly database: Database
  readonly badRecords: BadRecords
  readonly onAlarm: (alarm: StorageAlarm) => void
  /** Records of other shards are skipped when all records of a kind are read. Undefined: all belong to this shard. */
  readonly partition?: ShardPlace | undefined
  /** Payloads up to this ID belong to no shard. */
  readonly sharedPayloadsUpTo: number
  /** Valid for this opening of the database. */
  readonly payloads: PayloadCache
  /** Undefined: they are read again. */
  readonly clientIds: SharedClientIds | undefined
  /** Returns a generation that need not be read; undefined if it must be. */
  readonly findGeneration?: ((clientId: string) => Generation | undefined) | undefined
}

/** State that several reads share. */
export interface SharedClientIds {
  byGeneration: Promise<ReadonlyMap<Generation, string>> | undefined
}

const firstGroup = 8
const groupBytes = 1_024 * 1_024

type SessionRange = Extract<RecordRange, { clientId: string }>

/** A snapshot of the database, taken in the constructor. It must be closed. */
export class SnapshotReader {
  readonly #snapshot: Snapshot
  readonly #badRecords: BadRecords
  readonly #onAlarm: (alarm: StorageAlarm) => void
  readonly #partition: ShardPlace
  readonly #sharedPayloadsUpTo: number
  readonly #payloads: PayloadCache
  readonly #clientIds: SharedClientIds
  readonly #findCachedGeneration: SnapshotReaderOptions['findGeneration']

  constructor(options: SnapshotReaderOptions) {
    this.#snapshot = options.database.takeSnapshot()
    this.#badRecords = options.badRecords
    this.#onAlarm = options.onAlarm
    this.#partition = options.partition ?? { own: 0, count: 1 }
    this.#sharedPayloadsUpTo = options.sharedPayloadsUpTo
    this.#payloads = options.payloads
    this.#clientIds = options.clientIds ?? { byGeneration: undefined }
    this.#findCachedGeneration = options.findGeneration
  }

  /** Returns the records of a range in slices. */
  async *readRecords(range: RecordRange): AsyncIterable<StoredRecord[]> {
    if (range.clientId !== undefined) yield* this.#readSession(range)
    else if (range.topic !== undefined) yield* this.#readRetained(range.topic)
    else yield* this.#readAll(range.kind)
  }

  /** Returns every queued record without its message, in slices. */
  async *readQueueEntries(): AsyncIterable<QueueEntry[]> {
    const clientIds = await this.#readClientIds()
    for await (const slice of this.#readSlices({ ...createKindRange('queued'), keysOnly: true })) {
      yield this.#readValid(slice, ([key]) => {
        const clientId = clientIds.get(readKeyGeneration(key))
        return clientId === undefined ? undefined : { clientId, sequence: readKeySequence(key) }
      })
    }
  }

  /** Returns the number of queued records for each payload, in slices. */
  async *readPayloadReferences(): AsyncIterable<PayloadReferences[]> {
    // References to payloads that belong to no shard are not counted. One reference to the highest of their IDs is
    // reported, so that no shard uses these IDs again.
    if (this.#sharedPayloadsUpTo > 0) yield [[this.#sharedPayloadsUpTo, 1]]
    // Without payloads the queues need not be read.
    if ((await this.#snapshot.findLastKey(createKindRange('payload'))) === undefined) return
    const counts = await this.#countReferences()
    for await (const slice of this.#readSlices({ ...createKindRange('payload'), keysOnly: true })) {
      yield this.#readValid(slice, ([key]): PayloadReferences | undefined => {
        const id = readKeyPayloadId(key)
        return this.#ownsPayload(id) ? [id, counts.get(id)] : undefined
      })
    }
  }

  async #countReferences(): Promise<ReferenceCounts> {
    const clientIds = await this.#readClientIds()
    const counts = new ReferenceCounts()
    for await (const slice of this.#readSlices(createKindRange('queued'))) {
      const ids = this.#readValid(slice, ([key, value]) =>
        clientIds.has(readKeyGeneration(key)) ? readPayloadId(key, value) : undefined,
      )
      for (const id of ids) counts.add(id)
    }
    return counts
  }

  async close(): Promise<void> {
    await this.#snapshot.close()
  }

  async *#readAll(kind: RecordKind): AsyncIterable<StoredRecord[]> {
    const clientIds = isSessionKind(kind) ? await this.#readClientIds() : undefined
    for await (const slice of this.#readSlices(createKindRange(kind))) {
      yield this.#readValid(slice, ([key, value]) => {
        if (kind === 'retained' && !this.#ownsTopic(key)) return undefined
        // A record of an ended generation is invisible and waits for its deletion.
        const clientId = clientIds === undefined ? '' : clientIds.get(readKeyGeneration(key))
        return clientId === undefined ? undefined : readRecord(key, value, clientId)
      })
    }
  }

  /** Reads a range of one key instead of the key, so that damage is reported as for other ranges. */
  async *#readRetained(topic: string): AsyncIterable<StoredRecord[]> {
    const key = encodeRetainedKey(topic)
    for await (const slice of this.#readSlices({ gte: key, lt: Buffer.concat([key, Buffer.alloc(1)]), limit: 1 }))
      yield this.#readValid(slice, ([found, value]) => readRecord(found, value, ''))
  }

  #ownsTopic(key: Buffer): boolean {
    const { own, count } = this.#partition
    return count === 1 || computeTopicShard(key.toString('utf8', 1), count) === own
  }

  /** The number of a shard determines the IDs of its payloads. */
  #ownsPayload(id: number): boolean {
    const { own, count } = this.#partition
    return id > this.#sharedPayloadsUpTo && id % count === own
  }

  async *#readSession(range: SessionRange): AsyncIterable<StoredRecord[]> {
    const generation = await this.#findGeneration(range.clientId)
    if (generation === undefined) return
    const isQueue = range.kind === 'queued'
    const entries = {
      gte: isQueue ? encodeQueuedKey(generation, range.fromSequence ?? 0) : encodeSessionPrefix(range.kind, generation),
      lt: encodeSessionPrefix(range.kind, generation + 1),
      limit: isQueue ? range.limit : undefined,
      reverse: isQueue ? range.reverse : undefined,
      slices: isQueue ? range.slices : undefined,
    }
    for await (const slice of this.#readSlices(entries)) {
      const records = this.#readValid(slice, ([key, value]) => readRecord(key, value, range.clientId))
      if (isQueue) reportOmitted(range, slice, records)
      if (isQueue && range.withPayloads === true) yield* this.#resolveInGroups(records, range)
      else yield records
    }
  }

  async #findGeneration(clientId: string): Promise<Generation | undefined> {
    const cached = this.#findCachedGeneration?.(clientId)
    if (cached !== undefined) return cached
    const key = encodeGenerationKey(clientId)
    const value = await this.#snapshot.get(key)
    return value === undefined ? undefined : this.#readValid([[key, value]], () => readGeneration(key, value))[0]
  }

  /** A few queued records may refer to large payloads, so these are read in groups of about a megabyte. */
  async *#resolveInGroups(records: readonly StoredRecord[], range: QueueRange): AsyncIterable<StoredRecord[]> {
    let size = firstGroup
    let start = 0
    while (start < records.length) {
      const found = records.slice(start, start + size)
      const group = await this.#resolvePayloads(found)
      reportOmitted(range, found, group)
      yield group
      start += size
      size = sumPayloadBytes(group) < groupBytes ? size * 2 : Math.max(1, Math.floor(size / 2))
    }
  }

  async #resolvePayloads(records: readonly StoredRecord[]): Promise<StoredRecord[]> {
    const ids = collectPayloadIds(records)
    if (ids.length === 0) return [...records]
    const payloads = new Map<number, StoredMessage>()
    const unread: number[] = []
    for (const id of ids) {
      const payload = this.#payloads.get(id)
      if (payload === undefined) unread.push(id)
      else payloads.set(id, payload)
    }
    for (const [id, payload] of await this.#readPayloads(unread)) {
      payloads.set(id, payload)
      this.#payloads.add(id, payload)
    }
    return resolvePayloads(records, payloads, this.#onAlarm)
  }

  async #readPayloads(ids: readonly number[]): Promise<[number, StoredMessage][]> {
    if (ids.length === 0) return []
    const keys = ids.map(encodePayloadKey)
    const values = await this.#snapshot.getMany(keys)
    const present = keys.flatMap((key, index): DatabaseEntry[] => {
      const value = values[index]
      return value === undefined ? [] : [[key, value]]
    })
    return this.#readValid(present, ([key, value]): [number, StoredMessage] | undefined => {
      const record = readRecord(key, value, '')
      return record.kind === 'payload' ? [record.id, record.message] : undefined
    })
  }

  /** Returns the client ID of each generation in the snapshot. */
  #readClientIds(): Promise<ReadonlyMap<Generation, string>> {
    this.#clientIds.byGeneration ??= this.#collectClientIds()
    return this.#clientIds.byGeneration
  }

  async #collectClientIds(): Promise<ReadonlyMap<Generation, string>> {
    const { own, count } = this.#partition
    const clientIds = new Map<Generation, string>()
    for await (const slice of this.#readSlices(createKindRange('life'))) {
      const generations = this.#readValid(slice, ([key, value]) => {
        const clientId = key.toString('utf8', 1)
        return computeOwnerShard(clientId, count) === own
          ? ([readGeneration(key, value), clientId] as const)
          : undefined
      })
      for (const [generation, clientId] of generations) clientIds.set(generation, clientId)
    }
    return clientIds
  }

  #readSlices(range: EntryRange): AsyncIterable<DatabaseEntry[]> {
    return this.#snapshot.readSlices(range, (error) => this.#badRecords.reportUnreadable(error))
  }

  /** Returns the results of `read`, without entries that it skips or that are damaged. */
  #readValid<Value>(entries: readonly DatabaseEntry[], read: (entry: DatabaseEntry) => Value | undefined): Value[] {
    const values: Value[] = []
    for (const entry of entries) {
      const value = this.#badRecords.tryRead(entry, read)
      if (value !== undefined) values.push(value)
    }
    return values
  }
}

function reportOmitted({ onOmitted }: QueueRange, found: readonly unknown[], returned: readonly unknown[]): void {
  if (returned.length < found.length) onOmitted?.(found.length - returned.length)
}

function sumPayloadBytes(records: readonly StoredRecord[]): number {
  let bytes = 0
  for (const record of records) {
    if (record.kind === 'queued' && typeof record.message !== 'number') bytes += record.message.payload.length
  }
  return bytes
}
