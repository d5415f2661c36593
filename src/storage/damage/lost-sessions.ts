// After damage, some sessions have lost one of the two records that name them. The life record says which client id has
// which life; the session record belongs to the life and names the client id as well.
//
//   life record   session record
//   there         there            nothing to do
//   lost          there            the life record is made anew
//   there         lost             queued messages: a new session record without subscriptions is put in its place
//   lost          lost             the client id is unknown: queued messages are exported to a file, and the life ends

import { appendFile } from 'node:fs/promises'
import type { SessionRecord, StoredRecord } from '../../records/index.ts'
import { DamagedRecord, RecordTooNew } from '../byte-reader.ts'
import { encodeChange, encodeGrave, encodeLife } from '../change-encoder.ts'
import type { LevelDatabase, LevelEntry } from '../level-database.ts'
import { OperationList } from '../operation-list.ts'
import {
  bodyKey,
  lifeOfKey,
  rangeOfKind,
  sequenceOfKey,
  sessionKinds,
  sessionPrefix,
  type Life,
} from '../record-keys.ts'
import { readLife, readRecord } from '../record-values.ts'
import { SessionLives } from '../session-generations.ts'
import type { SessionRecordKind, StorageAlarm } from '../store.ts'
import { BadRecords } from './bad-records.ts'

export interface MendingOptions {
  /** The directory of the database. What is set aside and exported goes beside it. */
  readonly directory: string
  /** How long a session with a new record is kept. Undefined: none gets one, as its shard may still have it in memory. */
  readonly recoveredExpirySeconds: number | undefined
  readonly onAlarm: (alarm: StorageAlarm) => void
  /** Hears of a part of the database that cannot be read; it may throw. */
  readonly onUnreadable: (error: Error) => void
}

export interface MendedSessions {
  /** Sessions whose life record was made anew. */
  readonly livesRestored: number
  /** Sessions that have neither record any more. */
  readonly livesLost: number
}

/** An alarm names at most so many sessions. */
const maxNamesInAlarm = 20
/** What a session with a new record must not keep: its client is told that it has no session. */
const forgottenKinds = ['subscription', 'outgoing', 'incoming'] as const

/**
 * Mends the sessions of a database that nobody else uses. `thorough`: also looks for what belongs to no known life, which
 * takes a step for each session.
 */
export async function mendSessions(
  database: LevelDatabase,
  options: MendingOptions,
  { isThorough }: { readonly isThorough: boolean },
): Promise<MendedSessions> {
  const mending = new Mending(database, options)
  try {
    return await mending.run(isThorough)
  } finally {
    await mending.setAside()
  }
}

class Mending {
  readonly #database: LevelDatabase
  readonly #options: MendingOptions
  readonly #badRecords: BadRecords
  #letSetAside = (): void => {}
  #badCount = 0
  /** A newer version has written life records: which lives there are is not known. */
  #hasNewerLives = false
  readonly #clientIds = new Map<Life, string>()
  /** Lives that are named by a record of their own or have ended. */
  readonly #known = new Set<Life>()
  readonly #withSession = new Set<Life>()

  constructor(database: LevelDatabase, options: MendingOptions) {
    this.#database = database
    this.#options = options
    const { directory, onAlarm, onUnreadable } = options
    // Bad records are taken out when what takes their place is written.
    const isMended = new Promise<void>((resolve) => (this.#letSetAside = resolve))
    this.#badRecords = new BadRecords({
      database,
      file: `${directory}.damaged-records`,
      onAlarm,
      inTurn: async (act) => {
        await isMended
        await act()
      },
      onUnreadable,
    })
  }

  async run(isThorough: boolean): Promise<MendedSessions> {
    const names = new Set<string>()
    await this.#forEach('life', ([key, value]) => {
      const clientId = key.toString('utf8', 1)
      const life = this.#lifeIn(key, value, names)
      if (life === undefined) return
      this.#clientIds.set(life, clientId)
      this.#known.add(life)
    })
    await this.#forEach('grave', ([key]) => this.#known.add(lifeOfKey(key)))
    const livesRestored = await this.#restoreLives(names)
    const isDamaged = isThorough || this.#badCount > 0
    const { recoveredExpirySeconds } = this.#options
    if (recoveredExpirySeconds !== undefined) await this.#recoverSessions(isDamaged, recoveredExpirySeconds)
    const livesLost = isDamaged && !this.#hasNewerLives ? await this.#endUnknownLives() : 0
    return { livesRestored, livesLost }
  }

  async setAside(): Promise<void> {
    this.#letSetAside()
    await this.#badRecords.finish()
  }

  /** Undefined: a newer version has written it. The client ID of a bad record is free to be given its life again. */
  #lifeIn(key: Buffer, value: Buffer, names: Set<string>): Life | undefined {
    const life = ifNotTooNew(() => readLife(key, value))
    names.add(key.toString('utf8', 1))
    if (life === undefined) this.#hasNewerLives = true
    return life
  }

  async #restoreLives(names: Set<string>): Promise<number> {
    const operations = new OperationList()
    let restored = 0
    await this.#forEach('session', ([key, value]) => {
      const life = lifeOfKey(key)
      const record = ifNotTooNew(() => readRecord(key, value, ''))
      this.#withSession.add(life)
      if (record?.kind !== 'session' || this.#known.has(life) || names.has(record.clientId)) return
      encodeLife(operations, record.clientId, life)
      this.#known.add(life)
      names.add(record.clientId)
      restored += 1
    })
    if (operations.count > 0) await this.#database.write(operations, true)
    return restored
  }

  /** A client that has only a will stored has no session record either, and no queue. */
  async #recoverSessions(isDamaged: boolean, expirySeconds: number): Promise<void> {
    const lost = [...this.#clientIds.keys()].filter((life) => !this.#withSession.has(life)).toSorted((a, b) => a - b)
    const withQueue = await this.#livesIn('queued', lost)
    // Before the new records are there, so that a restart in between finds the same as this one.
    if (isDamaged || withQueue.length > 0) await this.#forgetRest(lost)
    const recovered: string[] = []
    let messages = 0
    for (const life of withQueue) {
      const clientId = this.#clientIds.get(life) ?? ''
      messages += await this.#recoverSession(life, clientId, expirySeconds)
      recovered.push(clientId)
    }
    this.#tellRecovered(recovered, messages)
  }

  /** Returns how many messages it has. */
  async #recoverSession(life: Life, clientId: string, expirySeconds: number): Promise<number> {
    let count = 0
    let last = 0
    for await (const slice of this.#slices('queued', life, true)) {
      for (const [key] of slice) last = ifSound(() => sequenceOfKey(key)) ?? last
      count += slice.length
    }
    const nowMs = Date.now()
    const record: SessionRecord = {
      kind: 'session',
      clientId,
      version: 5,
      username: undefined,
      principal: undefined,
      isSuperuser: false,
      mountpoint: '',
      createdAtMs: nowMs,
      expirySeconds,
      disconnectedAtMs: nowMs,
      queueHead: 0,
      sentBelow: last + 1,
      receiveMaximum: 65_535,
    }
    const operations = new OperationList()
    const lives = new SessionLives(life + 1)
    lives.learn(clientId, life)
    encodeChange(operations, { change: 'put', record }, lives)
    await this.#database.write(operations, true)
    return count
  }

  /** Else a later session of the same client would have it after a restart. */
  async #forgetRest(lost: readonly Life[]): Promise<void> {
    for (const kind of forgottenKinds) {
      for (const life of await this.#livesIn(kind, lost)) {
        for await (const slice of this.#slices(kind, life, true)) {
          const operations = new OperationList()
          for (const [key] of slice) operations.delete(key)
          await this.#database.write(operations, false)
        }
      }
    }
  }

  #tellRecovered(clientIds: readonly string[], messages: number): void {
    if (clientIds.length === 0) return
    const { directory, onAlarm } = this.#options
    const named = clientIds.slice(0, maxNamesInAlarm).map((clientId) => JSON.stringify(clientId))
    const more = clientIds.length > named.length ? ` and ${clientIds.length - named.length} more` : ''
    const text = `The records of ${clientIds.length} sessions in ${directory} were lost. Their ${messages} queued messages were kept in new sessions without subscriptions: ${named.join(', ')}${more}. The first client that connects with the client ID gets the messages that it may read.`
    onAlarm({ alarm: 'sessions-recovered', text })
  }

  /** Exports what is queued in lives that nothing names, and ends these lives. */
  async #endUnknownLives(): Promise<number> {
    const unknown = new Set<Life>()
    for (const kind of sessionKinds) {
      for await (const life of this.#eachLifeIn(kind)) if (!this.#known.has(life)) unknown.add(life)
    }
    if (unknown.size === 0) return 0
    const file = `${this.#options.directory}.lost-messages.jsonl`
    let exported = 0
    for (const life of unknown) exported += await this.#exportQueue(life, file)
    const operations = new OperationList()
    for (const life of unknown) encodeGrave(operations, life)
    await this.#database.write(operations, true)
    if (exported > 0) {
      const text = `${exported} queued messages in ${this.#options.directory} belong to sessions whose client IDs were lost. The messages were exported to ${file}; publish again what is still needed.`
      this.#options.onAlarm({ alarm: 'messages-exported', text })
    }
    return unknown.size
  }

  /** Appends a line for each readable message. Returns how many there are. */
  async #exportQueue(life: Life, file: string): Promise<number> {
    let count = 0
    for await (const slice of this.#slices('queued', life, false)) {
      const lines: string[] = []
      for (const [key, value] of slice) {
        const record = this.#attempt([key, value], () => readRecord(key, value, ''))
        const line = record?.kind === 'queued' ? await this.#lineOf(life, record) : undefined
        if (line !== undefined) lines.push(line)
      }
      if (lines.length > 0) await appendFile(file, `${lines.join('\n')}\n`, { mode: 0o600, flush: true })
      count += lines.length
    }
    return count
  }

  /** Undefined: the shared body is lost. */
  async #lineOf(life: Life, record: Extract<StoredRecord, { kind: 'queued' }>): Promise<string | undefined> {
    let { message } = record
    if (typeof message === 'number') {
      const key = bodyKey(message)
      const value = await this.#database.get(key)
      const body = value && this.#attempt([key, value], () => readRecord(key, value, ''))
      if (body?.kind !== 'body') return undefined
      message = body.message
    }
    const { topic, payload, properties, publisher, publishedAtMs, expiresAtMs } = message
    return JSON.stringify({
      session: life,
      sequence: record.sequence,
      topic,
      qos: record.qos,
      retain: record.retain,
      payload: inBase64(payload),
      properties: properties && {
        ...properties,
        correlationData: properties.correlationData && inBase64(properties.correlationData),
      },
      publisher,
      publishedAtMs,
      expiresAtMs,
    })
  }

  /** Those of some lives, in ascending order, of which there is a record of this kind. */
  async #livesIn(kind: SessionRecordKind, lives: readonly Life[]): Promise<Life[]> {
    const found: Life[] = []
    let next: Life | undefined = -1
    for (const life of lives) {
      if (next < life) next = await this.#nextLife(kind, life)
      if (next === undefined) break
      if (next === life) found.push(life)
    }
    return found
  }

  async *#eachLifeIn(kind: SessionRecordKind): AsyncIterable<Life> {
    for (let life = await this.#nextLife(kind, 0); life !== undefined; life = await this.#nextLife(kind, life + 1)) {
      yield life
    }
  }

  /** The lowest life, from this one on, of which there is a record of this kind. */
  async #nextLife(kind: SessionRecordKind, from: Life): Promise<Life | undefined> {
    const { lt } = rangeOfKind(kind)
    const key = await this.#database.firstKey({ gte: sessionPrefix(kind, from), lt })
    return key === undefined ? undefined : lifeOfKey(key)
  }

  #slices(kind: SessionRecordKind, life: Life, keysOnly: boolean): AsyncIterable<LevelEntry[]> {
    return this.#database.slices({ gte: sessionPrefix(kind, life), lt: sessionPrefix(kind, life + 1), keysOnly })
  }

  async #forEach(kind: Parameters<typeof rangeOfKind>[0], look: (entry: LevelEntry) => void): Promise<void> {
    const onDamage = (error: Error): void => this.#badRecords.unreadable(error)
    for await (const slice of this.#database.slices(rangeOfKind(kind), onDamage)) {
      for (const entry of slice) this.#attempt(entry, look)
    }
  }

  #attempt<Thing>(entry: LevelEntry, read: (entry: LevelEntry) => Thing): Thing | undefined {
    let isGood = false
    const thing = this.#badRecords.attempt(entry, (good) => {
      const made = read(good)
      isGood = true
      return made
    })
    if (!isGood) this.#badCount += 1
    return thing
  }
}

function inBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** A session record that this version cannot read is there all the same. */
function ifNotTooNew<Thing>(read: () => Thing): Thing | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof RecordTooNew) return undefined
    throw error
  }
}

function ifSound<Thing>(read: () => Thing): Thing | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof DamagedRecord) return undefined
    throw error
  }
}
