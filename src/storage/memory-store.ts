// A store that forgets when the process ends. It keeps records as the same bytes that the database would hold, so that
// nobody shares an object with it and a record that cannot be written fails here too.

import assert from 'node:assert/strict'
import type { RecordKind, StoredChange, StoredMessage, StoredRecord } from '../records/index.ts'
import { OperationList } from './operation-list.ts'
import { ReferenceCounts } from './reference-counts.ts'
import {
  bodyIdOfKey,
  bodyKey,
  isSessionKind,
  retainedKey,
  sequenceOfKey,
  writeKey,
  writeKeyOfRecord,
} from './record-keys.ts'
import { readBodyId, readRecord, writeChecksum, writeValue } from './record-values.ts'
import type {
  BodyReferences,
  GrowingSlices,
  QueueEntry,
  QueueRange,
  RecordRange,
  SessionRecordKind,
  StorageAlarm,
  Store,
} from './store.ts'
import { bodyIdsOf, resolveBodies } from './payload-resolution.ts'

interface Entry {
  readonly key: Buffer
  readonly value: Buffer
}

/** Entries by the hexadecimal text of their keys, which sorts as the bytes do. */
type Shelf = Map<string, Entry>

const evenSlices = { first: 512, most: 512 }

/** A store in memory. `onAlarm` hears of a queued record without its body. */
export function openMemoryStore(onAlarm: (alarm: StorageAlarm) => void = () => {}): Store {
  return new MemoryStore(onAlarm)
}

class MemoryStore implements Store {
  readonly #onAlarm: (alarm: StorageAlarm) => void
  readonly #sessions = new Map<string, Map<SessionRecordKind, Shelf>>()
  readonly #shelves = new Map<RecordKind, Shelf>()
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
      const entry = this.#shelves.get('retained')?.get(retainedKey(range.topic).toString('hex'))
      if (entry !== undefined) yield readRecord(entry.key, entry.value, '')
    } else if (range.clientId === undefined) {
      for (const { entry, clientId } of this.#allOf(range.kind)) yield readRecord(entry.key, entry.value, clientId)
    } else if (range.kind === 'queued') {
      yield* this.#queue(range)
    } else {
      const entries = sorted(this.#sessions.get(range.clientId)?.get(range.kind))
      for (const entry of entries) yield readRecord(entry.key, entry.value, range.clientId)
    }
  }

  async *readQueue(range: QueueRange): AsyncIterable<readonly StoredRecord[]> {
    assert(!this.#isClosed, 'the store is closed')
    yield* inSlices(this.#queue(range), range.slices)
  }

  scanQueues(): AsyncIterable<readonly QueueEntry[]> {
    return inSlices(
      this.#allOf('queued').map(({ entry, clientId }) => ({ clientId, sequence: sequenceOfKey(entry.key) })),
    )
  }

  countBodyReferences(): AsyncIterable<readonly BodyReferences[]> {
    const counts = new ReferenceCounts()
    for (const { entry } of this.#allOf('queued')) {
      const id = readBodyId(entry.key, entry.value)
      if (id !== undefined) counts.add(id)
    }
    const ids = sorted(this.#shelves.get('body')).map(({ key }) => bodyIdOfKey(key))
    return inSlices(ids.map((id) => [id, counts.get(id)] as const))
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
    const shelf = this.#shelfFor(change.change === 'delete' ? change.key : change.record)
    operations.replay(
      (key, value) => shelf.set(key.toString('hex'), { key: Buffer.from(key), value: Buffer.from(value) }),
      (key) => shelf.delete(key.toString('hex')),
    )
  }

  #shelfFor(subject: { readonly kind: RecordKind; readonly clientId?: string }): Shelf {
    const { kind, clientId } = subject
    if (!isSessionKind(kind) || clientId === undefined) return found(this.#shelves, kind, () => new Map())
    const session = found(this.#sessions, clientId, () => new Map<SessionRecordKind, Shelf>())
    return found(session, kind, () => new Map())
  }

  #allOf(kind: RecordKind): { entry: Entry; clientId: string }[] {
    if (!isSessionKind(kind)) return sorted(this.#shelves.get(kind)).map((entry) => ({ entry, clientId: '' }))
    return [...this.#sessions].flatMap(([clientId, shelves]) =>
      sorted(shelves.get(kind)).map((entry) => ({ entry, clientId })),
    )
  }

  #queue(range: QueueRange): StoredRecord[] {
    let entries = sorted(this.#sessions.get(range.clientId)?.get('queued'))
    const from = range.fromSequence ?? 0
    entries = entries.filter((entry) => sequenceOfKey(entry.key) >= from)
    if (range.reverse === true) entries.reverse()
    const records = entries.slice(0, range.limit).map((entry) => readRecord(entry.key, entry.value, range.clientId))
    if (range.withBodies !== true) return records
    const bodies = new Map<number, StoredMessage>()
    for (const id of bodyIdsOf(records)) {
      const body = this.#shelves.get('body')?.get(bodyKey(id).toString('hex'))
      const record = body === undefined ? undefined : readRecord(body.key, body.value, '')
      if (record?.kind === 'body') bodies.set(id, record.message)
    }
    return resolveBodies(records, bodies, this.#onAlarm)
  }
}

/** One slice after the other. */
async function* inSlices<Thing>(
  things: readonly Thing[],
  { first, most }: GrowingSlices = evenSlices,
): AsyncIterable<readonly Thing[]> {
  let start = 0
  for (let size = first; start < things.length; size = Math.min(size * 2, most)) {
    yield things.slice(start, start + size)
    start += size
  }
}

function sorted(shelf: Shelf | undefined): Entry[] {
  return shelf === undefined ? [] : [...shelf.values()].sort((a, b) => a.key.compare(b.key))
}

/** What the map has under the key, put there first if need be. */
function found<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const present = map.get(key)
  if (present !== undefined) return present
  const made = make()
  map.set(key, made)
  return made
}
