// A store that loses its records when the process ends. It stores the same bytes as the database, so that it shares no
// objects with callers, and a record that cannot be written fails here too.

import assert from 'node:assert/strict'
import { writeChecksum } from '../encoding/checked-value.ts'
import type { RecordKind, StoredChange, StoredMessage, StoredRecord } from '../../records/index.ts'
import { OperationList } from '../database/operation-list.ts'
import { ReferenceCounts } from '../payloads/reference-counts.ts'
import {
  readKeyPayloadId,
  encodePayloadKey,
  isSessionKind,
  encodeRetainedKey,
  readKeySequence,
  writeKey,
  writeKeyOfRecord,
} from '../encoding/record-keys.ts'
import { readPayloadId, readRecord, writeValue } from '../encoding/record-values.ts'
import type {
  PayloadReferences,
  GrowingSlices,
  QueueEntry,
  QueueRange,
  RecordRange,
  SessionRecordKind,
  StorageAlarm,
  Store,
} from '../store.ts'
import { collectPayloadIds, resolvePayloads } from '../payloads/payload-resolution.ts'

interface Entry {
  readonly key: Buffer
  readonly value: Buffer
}

/** Entries by hexadecimal keys, which have the order of the bytes. */
type EntryMap = Map<string, Entry>

const defaultSlices = { first: 512, max: 512 }

/** Creates a store in memory. `onAlarm` is called for a queued record without its payload. */
export function openMemoryStore(onAlarm: (alarm: StorageAlarm) => void = () => {}): Store {
  return new MemoryStore(onAlarm)
}

class MemoryStore implements Store {
  readonly keepsSnapshots = true
  readonly #onAlarm: (alarm: StorageAlarm) => void
  readonly #sessions = new Map<string, Map<SessionRecordKind, EntryMap>>()
  readonly #entryMaps = new Map<RecordKind, EntryMap>()
  readonly #operations = new OperationList()
  #isClosed = false

  constructor(onAlarm: (alarm: StorageAlarm) => void) {
    this.#onAlarm = onAlarm
  }

  async commit(changes: readonly (StoredChange | undefined)[]): Promise<void> {
    assert(!this.#isClosed, 'the store is closed')
    for (const change of changes) if (change !== undefined) this.#apply(change)
  }

  async *read(range: RecordRange): AsyncIterable<StoredRecord> {
    assert(!this.#isClosed, 'the store is closed')
    if (range.clientId === undefined && range.topic !== undefined) {
      const entry = this.#entryMaps.get('retained')?.get(encodeRetainedKey(range.topic).toString('hex'))
      if (entry !== undefined) yield readRecord(entry.key, entry.value, '')
    } else if (range.clientId === undefined) {
      for (const { entry, clientId } of this.#listEntries(range.kind))
        yield readRecord(entry.key, entry.value, clientId)
    } else if (range.kind === 'queued') {
      yield* this.#readQueueRecords(range)
    } else {
      const entries = sortEntries(this.#sessions.get(range.clientId)?.get(range.kind))
      for (const entry of entries) yield readRecord(entry.key, entry.value, range.clientId)
    }
  }

  async *readQueue(range: QueueRange): AsyncIterable<readonly StoredRecord[]> {
    assert(!this.#isClosed, 'the store is closed')
    yield* splitIntoSlices(this.#readQueueRecords(range), range.slices)
  }

  scanQueues(): AsyncIterable<readonly QueueEntry[]> {
    return splitIntoSlices(
      this.#listEntries('queued').map(({ entry, clientId }) => ({ clientId, sequence: readKeySequence(entry.key) })),
    )
  }

  countPayloadReferences(): AsyncIterable<readonly PayloadReferences[]> {
    const counts = new ReferenceCounts()
    for (const { entry } of this.#listEntries('queued')) {
      const id = readPayloadId(entry.key, entry.value)
      if (id !== undefined) counts.add(id)
    }
    const ids = sortEntries(this.#entryMaps.get('payload')).map(({ key }) => readKeyPayloadId(key))
    return splitIntoSlices(ids.map((id) => [id, counts.get(id)] as const))
  }

  shareClientIds(): () => void {
    return () => {}
  }

  async reopen(): Promise<void> {
    assert(!this.#isClosed, 'the store is closed')
  }

  async close(): Promise<void> {
    this.#isClosed = true
  }

  #apply(change: StoredChange): void {
    if (change.change === 'delete-session') {
      this.#sessions.delete(change.clientId)
      return
    }
    if (change.change === 'rename-session') {
      const session = this.#sessions.get(change.clientId)
      this.#sessions.delete(change.clientId)
      if (session !== undefined && !this.#sessions.has(change.to)) this.#sessions.set(change.to, session)
      return
    }
    const operations = this.#operations
    operations.clear()
    operations.begin()
    if (change.change === 'delete') {
      writeKey(operations.writer, change.key, 0)
      operations.endDelete()
    } else {
      writeKeyOfRecord(operations.writer, change.record, 0)
      operations.endKey()
      writeValue(operations.writer, change.record)
      writeChecksum(operations.writer, operations.keyStart)
      operations.endValue()
    }
    const entryMap = this.#ensureEntryMap(change.change === 'delete' ? change.key : change.record)
    operations.replay(
      (key, value) => entryMap.set(key.toString('hex'), { key: Buffer.from(key), value: Buffer.from(value) }),
      (key) => entryMap.delete(key.toString('hex')),
    )
  }

  #ensureEntryMap(subject: { readonly kind: RecordKind; readonly clientId?: string }): EntryMap {
    const { kind, clientId } = subject
    if (!isSessionKind(kind) || clientId === undefined) return getOrCreate(this.#entryMaps, kind, () => new Map())
    const session = getOrCreate(this.#sessions, clientId, () => new Map<SessionRecordKind, EntryMap>())
    return getOrCreate(session, kind, () => new Map())
  }

  #listEntries(kind: RecordKind): { entry: Entry; clientId: string }[] {
    if (!isSessionKind(kind)) return sortEntries(this.#entryMaps.get(kind)).map((entry) => ({ entry, clientId: '' }))
    return [...this.#sessions].flatMap(([clientId, entryMaps]) =>
      sortEntries(entryMaps.get(kind)).map((entry) => ({ entry, clientId })),
    )
  }

  #readQueueRecords(range: QueueRange): StoredRecord[] {
    let entries = sortEntries(this.#sessions.get(range.clientId)?.get('queued'))
    const from = range.fromSequence ?? 0
    entries = entries.filter((entry) => readKeySequence(entry.key) >= from)
    if (range.reverse === true) entries.reverse()
    const records = entries.slice(0, range.limit).map((entry) => readRecord(entry.key, entry.value, range.clientId))
    if (range.withPayloads !== true) return records
    const payloads = new Map<number, StoredMessage>()
    for (const id of collectPayloadIds(records)) {
      const payload = this.#entryMaps.get('payload')?.get(encodePayloadKey(id).toString('hex'))
      const record = payload === undefined ? undefined : readRecord(payload.key, payload.value, '')
      if (record?.kind === 'payload') payloads.set(id, record.message)
    }
    const resolved = resolvePayloads(records, payloads, this.#onAlarm)
    if (resolved.length < records.length) range.onOmitted?.(records.length - resolved.length)
    return resolved
  }
}

async function* splitIntoSlices<Item>(
  items: readonly Item[],
  { first, max }: GrowingSlices = defaultSlices,
): AsyncIterable<readonly Item[]> {
  let start = 0
  for (let size = first; start < items.length; size = Math.min(size * 2, max)) {
    yield items.slice(start, start + size)
    start += size
  }
}

function sortEntries(entryMap: EntryMap | undefined): Entry[] {
  return entryMap === undefined ? [] : [...entryMap.values()].sort((a, b) => a.key.compare(b.key))
}

/** Returns the value of the key, which is created if missing. */
function getOrCreate<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const present = map.get(key)
  if (present !== undefined) return present
  const made = make()
  map.set(key, made)
  return made
}
