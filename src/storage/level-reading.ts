// Reads records from one moment of a database. What is damaged is left out and handed to `BadRecords`.

import { ownerOf, type ShardPlace, shardOf } from '../core/index.ts'
import type { RecordKind, StoredMessage, StoredRecord } from '../records/index.ts'
import type { BadRecords } from './damage/bad-records.ts'
import type { BodyCache } from './payload-cache.ts'
import { bodyIdsOf, resolveBodies } from './payload-resolution.ts'
import type { LevelDatabase, LevelEntry, Moment } from './level-database.ts'
import {
  bodyIdOfKey,
  bodyKey,
  isSessionKind,
  lifeKey,
  lifeOfKey,
  queuedKey,
  rangeOfKind,
  retainedKey,
  sequenceOfKey,
  sessionPrefix,
} from './record-keys.ts'
import { readBodyId, readLife, readRecord } from './record-values.ts'
import { ReferenceCounts } from './reference-counts.ts'
import type { Life } from './record-keys.ts'
import type { BodyReferences, QueueEntry, RecordRange, StorageAlarm } from './store.ts'

export interface LevelReadingOptions {
  readonly database: LevelDatabase
  readonly badRecords: BadRecords
  readonly onAlarm: (alarm: StorageAlarm) => void
  /** What belongs to others is left out where everything of a kind is read. Undefined: everything belongs to this one. */
  readonly place?: ShardPlace | undefined
  /** Bodies up to here are nobody's. */
  readonly sharedBodiesUpTo: number
  /** Of this opening of the database. */
  readonly bodies: BodyCache
}

const firstGroup = 8
const groupBytes = 1_024 * 1_024

type SessionRange = Extract<RecordRange, { clientId: string }>

/** One moment of the database, taken at once. `close` it. */
export class LevelReading {
  readonly #database: LevelDatabase
  readonly #moment: Moment
  readonly #badRecords: BadRecords
  readonly #onAlarm: (alarm: StorageAlarm) => void
  readonly #place: ShardPlace
  readonly #sharedBodiesUpTo: number
  readonly #bodies: BodyCache

  constructor(options: LevelReadingOptions) {
    this.#database = options.database
    this.#moment = options.database.moment()
    this.#badRecords = options.badRecords
    this.#onAlarm = options.onAlarm
    this.#place = options.place ?? { own: 0, count: 1 }
    this.#sharedBodiesUpTo = options.sharedBodiesUpTo
    this.#bodies = options.bodies
  }

  /** The records of a range in slices. */
  async *records(range: RecordRange): AsyncIterable<StoredRecord[]> {
    if (range.clientId !== undefined) yield* this.#ofSession(range)
    else if (range.topic !== undefined) yield* this.#retainedOf(range.topic)
    else yield* this.#allOf(range.kind)
  }

  /** Every queued record without its message, in slices. */
  async *queueEntries(): AsyncIterable<QueueEntry[]> {
    const clientIds = await this.#clientIds()
    for await (const slice of this.#slices({ ...rangeOfKind('queued'), keysOnly: true })) {
      yield this.#good(slice, ([key]) => {
        const clientId = clientIds.get(lifeOfKey(key))
        return clientId === undefined ? undefined : { clientId, sequence: sequenceOfKey(key) }
      })
    }
  }

  /** How many queued records refer to each body, in slices. */
  async *bodyReferences(): AsyncIterable<BodyReferences[]> {
    // Nobody counts those, and nobody is to give their ids out again.
    if (this.#sharedBodiesUpTo > 0) yield [[this.#sharedBodiesUpTo, 1]]
    // Where there are no bodies the queues need not be read.
    if ((await this.#database.lastKey(rangeOfKind('body'), this.#moment)) === undefined) return
    const counts = await this.#countReferences()
    for await (const slice of this.#slices({ ...rangeOfKind('body'), keysOnly: true })) {
      yield this.#good(slice, ([key]): BodyReferences | undefined => {
        const id = bodyIdOfKey(key)
        return this.#ownsBody(id) ? [id, counts.get(id)] : undefined
      })
    }
  }

  async #countReferences(): Promise<ReferenceCounts> {
    const clientIds = await this.#clientIds()
    const counts = new ReferenceCounts()
    for await (const slice of this.#slices(rangeOfKind('queued'))) {
      const ids = this.#good(slice, ([key, value]) =>
        clientIds.has(lifeOfKey(key)) ? readBodyId(key, value) : undefined,
      )
      for (const id of ids) counts.add(id)
    }
    return counts
  }

  async close(): Promise<void> {
    await this.#moment.close()
  }

  async *#allOf(kind: RecordKind): AsyncIterable<StoredRecord[]> {
    const clientIds = isSessionKind(kind) ? await this.#clientIds() : undefined
    for await (const slice of this.#slices(rangeOfKind(kind))) {
      yield this.#good(slice, ([key, value]) => {
        if (kind === 'retained' && !this.#ownsTopic(key)) return undefined
        // A record of a life that is over waits for its sweep: nobody sees it.
        const clientId = clientIds === undefined ? '' : clientIds.get(lifeOfKey(key))
        return clientId === undefined ? undefined : readRecord(key, value, clientId)
      })
    }
  }

  /** As a range of one key: what is unreadable there is told like damage anywhere else. */
  async *#retainedOf(topic: string): AsyncIterable<StoredRecord[]> {
    const key = retainedKey(topic)
    for await (const slice of this.#slices({ gte: key, lt: Buffer.concat([key, Buffer.alloc(1)]), limit: 1 }))
      yield this.#good(slice, ([found, value]) => readRecord(found, value, ''))
  }

  #ownsTopic(key: Buffer): boolean {
    const { own, count } = this.#place
    return count === 1 || ownerOf(key.toString('utf8', 1), count) === own
  }

  /** The core gives ids to bodies by the number of its shard. */
  #ownsBody(id: number): boolean {
    const { own, count } = this.#place
    return id > this.#sharedBodiesUpTo && id % count === own
  }

  async *#ofSession(range: SessionRange): AsyncIterable<StoredRecord[]> {
    const life = await this.#lifeOf(range.clientId)
    if (life === undefined) return
    const isQueue = range.kind === 'queued'
    const entries = {
      gte: isQueue ? queuedKey(life, range.fromSequence ?? 0) : sessionPrefix(range.kind, life),
      lt: sessionPrefix(range.kind, life + 1),
      limit: isQueue ? range.limit : undefined,
      reverse: isQueue ? range.reverse : undefined,
      slices: isQueue ? range.slices : undefined,
    }
    for await (const slice of this.#slices(entries)) {
      const records = this.#good(slice, ([key, value]) => readRecord(key, value, range.clientId))
      if (isQueue && range.withBodies === true) yield* this.#inGroups(records)
      else yield records
    }
  }

  async #lifeOf(clientId: string): Promise<Life | undefined> {
    const key = lifeKey(clientId)
    const value = await this.#database.get(key, this.#moment)
    return value === undefined ? undefined : this.#good([[key, value]], () => readLife(key, value))[0]
  }

  /** A few queued records may refer to very much: bodies are fetched in groups of about a megabyte. */
  async *#inGroups(records: readonly StoredRecord[]): AsyncIterable<StoredRecord[]> {
    let size = firstGroup
    let start = 0
    while (start < records.length) {
      const group = await this.#resolve(records.slice(start, start + size))
      yield group
      start += size
      size = payloadBytesOf(group) < groupBytes ? size * 2 : Math.max(1, Math.floor(size / 2))
    }
  }

  async #resolve(records: readonly StoredRecord[]): Promise<StoredRecord[]> {
    const ids = bodyIdsOf(records)
    if (ids.length === 0) return [...records]
    const bodies = new Map<number, StoredMessage>()
    const unread: number[] = []
    for (const id of ids) {
      const body = this.#bodies.get(id)
      if (body === undefined) unread.push(id)
      else bodies.set(id, body)
    }
    for (const [id, body] of await this.#readBodies(unread)) {
      bodies.set(id, body)
      this.#bodies.add(id, body)
    }
    return resolveBodies(records, bodies, this.#onAlarm)
  }

  async #readBodies(ids: readonly number[]): Promise<[number, StoredMessage][]> {
    if (ids.length === 0) return []
    const keys = ids.map(bodyKey)
    const values = await this.#database.getMany(keys, this.#moment)
    const present = keys.flatMap((key, index): LevelEntry[] => {
      const value = values[index]
      return value === undefined ? [] : [[key, value]]
    })
    return this.#good(present, ([key, value]): [number, StoredMessage] | undefined => {
      const record = readRecord(key, value, '')
      return record.kind === 'body' ? [record.id, record.message] : undefined
    })
  }

  /** The client id of each life of that moment. */
  async #clientIds(): Promise<Map<Life, string>> {
    const { own, count } = this.#place
    const clientIds = new Map<Life, string>()
    for await (const slice of this.#slices(rangeOfKind('life'))) {
      const lives = this.#good(slice, ([key, value]) => {
        const clientId = key.toString('utf8', 1)
        return shardOf(clientId, count) === own ? ([readLife(key, value), clientId] as const) : undefined
      })
      for (const [life, clientId] of lives) clientIds.set(life, clientId)
    }
    return clientIds
  }

  #slices(range: Omit<Parameters<LevelDatabase['slices']>[0], 'moment'>): AsyncIterable<LevelEntry[]> {
    const onDamage = (error: Error): void => this.#badRecords.unreadable(error)
    return this.#database.slices({ ...range, moment: this.#moment }, onDamage)
  }

  /** What `read` makes of the entries, without those that it leaves out or cannot make sense of. */
  #good<Thing>(entries: readonly LevelEntry[], read: (entry: LevelEntry) => Thing | undefined): Thing[] {
    const good: Thing[] = []
    for (const entry of entries) {
      const thing = this.#badRecords.attempt(entry, read)
      if (thing !== undefined) good.push(thing)
    }
    return good
  }
}

function payloadBytesOf(records: readonly StoredRecord[]): number {
  let bytes = 0
  for (const record of records) {
    if (record.kind === 'queued' && typeof record.message !== 'number') bytes += record.message.payload.length
  }
  return bytes
}
