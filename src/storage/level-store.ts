// The store on disk: commits in a row, reads as of one moment.

import assert from 'node:assert/strict'
import type { StoredChange, StoredMessage, StoredRecord } from '../core/index.ts'
import { bodyIdsOf, resolveBodies } from './body-resolution.ts'
import { encodeChange } from './change-encoder.ts'
import { LevelDatabase, type Moment } from './level-database.ts'
import { OperationList } from './operation-list.ts'
import {
  bodyKey,
  isSessionKind,
  kindBytes,
  lifeKey,
  lifeOfKey,
  queuedKey,
  sessionKinds,
  sessionPrefix,
} from './record-keys.ts'
import { openValue, readBodyId, readRecord } from './record-values.ts'
import { type Life, SessionLives } from './session-lives.ts'
import type { QueueEntry, RecordRange, StorageAlarm, Store } from './store.ts'

/** When what was committed must be on disk: before `commit` resolves, every so often, or when the system likes. */
export type SyncMode = 'commit' | 'interval' | 'never'

export interface LevelStoreOptions {
  /** The directory of the database alone. Made if missing. What is damaged is set aside beside it. */
  readonly directory: string
  readonly sync: SyncMode
  /** For `sync: 'interval'`. */
  readonly syncIntervalMs: number
  readonly onAlarm: (alarm: StorageAlarm) => void
}

/** Opens the database in a directory, or makes it. Rejects if another process has it or the directory cannot be written. */
export async function openLevelStore(options: LevelStoreOptions): Promise<Store> {
  const store = new LevelStore(options)
  await store.open()
  return store
}

class LevelStore implements Store {
  readonly #options: LevelStoreOptions
  readonly #operations = new OperationList()
  #database: LevelDatabase | undefined
  #lives = new SessionLives(1)
  #lastCommit: Promise<void> = Promise.resolve()
  #mustReopen = false

  constructor(options: LevelStoreOptions) {
    this.#options = options
  }

  async open(): Promise<void> {
    this.#database = await LevelDatabase.open(this.#options.directory)
    this.#lives = new SessionLives(await firstFreeLife(this.#database))
    this.#mustReopen = false
  }

  commit(changes: readonly (StoredChange | undefined)[]): Promise<void> {
    const commit = this.#lastCommit.then(() => this.#write(changes))
    // The next commit waits for this one; that this one failed is told to its own caller.
    this.#lastCommit = commit.catch(() => {})
    return commit
  }

  async *read(range: RecordRange): AsyncIterable<StoredRecord> {
    const database = this.#open()
    const moment = database.moment()
    try {
      if (range.clientId === undefined) yield* this.#readAll(database, moment, range.kind)
      else yield* this.#readSession(database, moment, range)
    } finally {
      await moment.close()
    }
  }

  async *scanQueues(): AsyncIterable<readonly QueueEntry[]> {
    const database = this.#open()
    const moment = database.moment()
    try {
      const clientIds = await this.#clientIds(database, moment)
      for await (const slice of database.slices({ ...rangeOfKind(kindBytes.queued), moment })) {
        yield slice.flatMap(([key, value]) => {
          const clientId = clientIds.get(lifeOfKey(key))
          if (clientId === undefined) return []
          return [{ clientId, sequence: Number(key.readBigUInt64BE(7)), bodyId: readBodyId(key, value) }]
        })
      }
    } finally {
      await moment.close()
    }
  }

  async reopen(): Promise<void> {
    await this.#lastCommit
    await this.#database?.close()
    this.#database = undefined
    await this.open()
  }

  async close(): Promise<void> {
    await this.#lastCommit
    await this.#database?.close()
    this.#database = undefined
  }

  async #write(changes: readonly (StoredChange | undefined)[]): Promise<void> {
    const database = this.#open()
    assert(!this.#mustReopen, 'a commit failed: the store must be reopened first')
    try {
      await this.#learnLives(database, changes)
      const operations = this.#operations
      operations.clear()
      for (const change of changes) if (change !== undefined) encodeChange(operations, change, this.#lives)
      await database.write(operations, this.#options.sync === 'commit')
      this.#lives.settle()
    } catch (error) {
      this.#mustReopen = true
      this.#lives.forget()
      throw error
    }
  }

  async #learnLives(database: LevelDatabase, changes: readonly (StoredChange | undefined)[]): Promise<void> {
    const clientIds = this.#lives.unknownIn(changes)
    if (clientIds.length === 0) return
    const values = await database.getMany(clientIds.map(lifeKey))
    for (const [index, clientId] of clientIds.entries()) {
      const value = values[index]
      this.#lives.learn(clientId, value === undefined ? undefined : readLife(lifeKey(clientId), value))
    }
  }

  async *#readAll(database: LevelDatabase, moment: Moment, kind: StoredRecord['kind']): AsyncIterable<StoredRecord> {
    const clientIds = isSessionKind(kind) ? await this.#clientIds(database, moment) : undefined
    for await (const slice of database.slices({ ...rangeOfKind(kindBytes[kind]), moment })) {
      for (const [key, value] of slice) {
        const clientId = clientIds === undefined ? '' : clientIds.get(lifeOfKey(key))
        if (clientId !== undefined) yield readRecord(key, value, clientId)
      }
    }
  }

  async *#readSession(
    database: LevelDatabase,
    moment: Moment,
    range: Extract<RecordRange, { clientId: string }>,
  ): AsyncIterable<StoredRecord> {
    const value = await database.get(lifeKey(range.clientId), moment)
    if (value === undefined) return
    const life = readLife(lifeKey(range.clientId), value)
    const isQueue = range.kind === 'queued'
    const entries = {
      gte: isQueue ? queuedKey(life, range.fromSequence ?? 0) : sessionPrefix(range.kind, life),
      lt: sessionPrefix(range.kind, life + 1),
      moment,
      limit: isQueue ? range.limit : undefined,
      reverse: isQueue ? range.reverse : undefined,
    }
    for await (const slice of database.slices(entries)) {
      const records = slice.map(([key, value]) => readRecord(key, value, range.clientId))
      if (isQueue && range.withBodies === true) yield* await this.#resolve(database, moment, records)
      else yield* records
    }
  }

  async #resolve(database: LevelDatabase, moment: Moment, records: readonly StoredRecord[]): Promise<StoredRecord[]> {
    const ids = bodyIdsOf(records)
    if (ids.length === 0) return [...records]
    const values = await database.getMany(ids.map(bodyKey), moment)
    const bodies = new Map<number, StoredMessage>()
    for (const [index, id] of ids.entries()) {
      const value = values[index]
      const record = value === undefined ? undefined : readRecord(bodyKey(id), value, '')
      if (record?.kind === 'body') bodies.set(id, record.message)
    }
    return resolveBodies(records, bodies, this.#options.onAlarm)
  }

  /** The client id of each life of that moment. */
  async #clientIds(database: LevelDatabase, moment: Moment): Promise<Map<Life, string>> {
    const clientIds = new Map<Life, string>()
    for await (const slice of database.slices({ ...rangeOfKind(kindBytes.life), moment })) {
      for (const [key, value] of slice) clientIds.set(readLife(key, value), key.toString('utf8', 1))
    }
    return clientIds
  }

  #open(): LevelDatabase {
    assert(this.#database !== undefined, 'the store is closed')
    return this.#database
  }
}

function rangeOfKind(kindByte: number): { gte: Buffer; lt: Buffer } {
  return { gte: Buffer.of(kindByte), lt: Buffer.of(kindByte + 1) }
}

function readLife(key: Buffer, value: Buffer): Life {
  return openValue(key, value).reader.uint48()
}

/** One more than the highest life that any key names. */
async function firstFreeLife(database: LevelDatabase): Promise<Life> {
  let highest = 0
  for (const kindByte of [kindBytes.grave, ...sessionKinds.map((kind) => kindBytes[kind])]) {
    const { gte, lt } = rangeOfKind(kindByte)
    const key = await database.lastKey(gte, lt)
    if (key !== undefined) highest = Math.max(highest, lifeOfKey(key))
  }
  return highest + 1
}
