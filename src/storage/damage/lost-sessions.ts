// After damage, sessions may have lost one of the two records that identify them. The generation record maps a client ID to a
// generation; the session record belongs to the generation and contains the client ID as well.
//
//   generation record   session record
//   exists              exists           nothing to do
//   lost                exists           the generation record is created again
//   exists              lost             queued messages: a new session record without subscriptions is created
//   lost                lost             the client ID is unknown: queued messages are exported to a file, the generation ends

import { hash } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import type { SessionRecord, StoredRecord } from '../../records/index.ts'
import { DamagedRecord, RecordTooNew } from '../encoding/record-byte-reader.ts'
import { encodeChange, encodeTombstone, encodeGeneration } from '../database/change-encoder.ts'
import type { DatabaseEntry } from '../database/entry-database.ts'
import type { LevelDatabase } from '../database/level-database.ts'
import { OperationList } from '../database/operation-list.ts'
import {
  encodePayloadKey,
  readKeyGeneration,
  createKindRange,
  readKeySequence,
  sessionKinds,
  encodeSessionPrefix,
  type Generation,
} from '../encoding/record-keys.ts'
import { readGeneration, readRecord } from '../encoding/record-values.ts'
import { SessionGenerations } from '../database/session-generations.ts'
import type { SessionRecordKind, StorageAlarm } from '../store.ts'
import { BadRecords } from './bad-records.ts'
import { FileQuarantine } from './file-quarantine.ts'

export interface LostSessionOptions {
  /** Directory of the database. Quarantine and export files are next to it. */
  readonly directory: string
  /**
   * Session expiry of recreated sessions. Undefined: none is recreated, because its shard may still have it in memory.
   */
  readonly recoveredExpirySeconds: number | undefined
  readonly onAlarm: (alarm: StorageAlarm) => void
  /** Called for an unreadable part of the database; it may throw. */
  readonly onUnreadable: (error: Error) => void
}

export interface LostSessionResult {
  /** Sessions whose generation record was created again. */
  readonly restoredGenerations: number
  /** Sessions without either record. */
  readonly unknownGenerations: number
}

/** Longer client IDs are shortened. */
const maxNameBytes = 128
/** Maximum number of sessions that an alarm names. */
const maxNamesInAlarm = 20
/** Records that are deleted for a recreated session, because CONNACK tells its client that the session is new. */
const deletedKinds = ['subscription', 'outgoing', 'incoming'] as const

/**
 * Repairs the sessions of a database that nothing else uses. `isThorough`: also finds records of unknown
 * generations, which takes a step for each session.
 */
export async function recoverLostSessions(
  database: LevelDatabase,
  options: LostSessionOptions,
  { isThorough }: { readonly isThorough: boolean },
): Promise<LostSessionResult> {
  const recovery = new LostSessionRecovery(database, options)
  try {
    return await recovery.run(isThorough)
  } finally {
    await recovery.quarantine()
  }
}

class LostSessionRecovery {
  readonly #database: LevelDatabase
  readonly #options: LostSessionOptions
  readonly #badRecords: BadRecords
  #allowQuarantine = (): void => {}
  #badCount = 0
  /** A newer version has written generation records, so the set of generations is unknown. */
  #hasNewerGenerations = false
  readonly #named: Generation[] = []
  /** Generations that have a record or have ended. */
  readonly #known = new Set<Generation>()
  readonly #withSession = new Set<Generation>()

  constructor(database: LevelDatabase, options: LostSessionOptions) {
    this.#database = database
    this.#options = options
    const { directory, onAlarm, onUnreadable } = options
    // Damaged records are removed when their replacement is written.
    const isRecovered = new Promise<void>((resolve) => (this.#allowQuarantine = resolve))
    this.#badRecords = new BadRecords({
      database,
      quarantine: new FileQuarantine(`${directory}.damaged-records`),
      onAlarm,
      runExclusively: async (act) => {
        await isRecovered
        await act()
      },
      onUnreadable,
    })
  }

  async run(isThorough: boolean): Promise<LostSessionResult> {
    const names = new Set<string>()
    await this.#visitRecords('life', ([key, value]) => {
      const generation = this.#readGenerationRecord(key, value, names)
      if (generation === undefined) return
      this.#named.push(generation)
      this.#known.add(generation)
    })
    await this.#visitRecords('tombstone', ([key]) => this.#known.add(readKeyGeneration(key)))
    const restoredGenerations = await this.#restoreGenerations(names)
    const isDamaged = isThorough || this.#badCount > 0
    const { recoveredExpirySeconds } = this.#options
    if (recoveredExpirySeconds !== undefined) await this.#recoverSessions(isDamaged, recoveredExpirySeconds)
    const unknownGenerations = isDamaged && !this.#hasNewerGenerations ? await this.#endUnknownGenerations() : 0
    return { restoredGenerations, unknownGenerations }
  }

  async quarantine(): Promise<void> {
    this.#allowQuarantine()
    await this.#badRecords.finish()
  }

  /**
   * Returns the generation in a record; undefined if a newer version has written it. A client ID with a damaged record
   * may get its generation again.
   */
  #readGenerationRecord(key: Buffer, value: Buffer, names: Set<string>): Generation | undefined {
    const generation = ignoreTooNew(() => readGeneration(key, value))
    names.add(toShortName(key.subarray(1)))
    if (generation === undefined) this.#hasNewerGenerations = true
    return generation
  }

  async #restoreGenerations(names: Set<string>): Promise<number> {
    const operations = new OperationList()
    let restored = 0
    await this.#visitRecords('session', ([key, value]) => {
      const generation = readKeyGeneration(key)
      const record = ignoreTooNew(() => readRecord(key, value, ''))
      this.#withSession.add(generation)
      if (record?.kind !== 'session' || this.#known.has(generation)) return
      const name = toShortName(Buffer.from(record.clientId))
      if (names.has(name)) return
      encodeGeneration(operations, record.clientId, generation)
      this.#known.add(generation)
      names.add(name)
      restored += 1
    })
    if (operations.count > 0) await this.#database.write(operations, true)
    return restored
  }

  /**
   * Creates sessions for queues without a session record. A client with only a stored will has neither, and gets no
   * session.
   */
  async #recoverSessions(isDamaged: boolean, expirySeconds: number): Promise<void> {
    const lost = this.#named.filter((generation) => !this.#withSession.has(generation)).toSorted((a, b) => a - b)
    const withQueue = await this.#findGenerationsWith('queued', lost)
    // Before the new records are written, so that a restart in between finds the same state.
    if (isDamaged || withQueue.length > 0) await this.#deleteOtherRecords(lost)
    const recovered: string[] = []
    let messages = 0
    const clientIds = await this.#readClientIds(withQueue)
    for (const generation of withQueue) {
      const clientId = clientIds.get(generation) ?? ''
      messages += await this.#recoverSession(generation, clientId, expirySeconds)
      recovered.push(clientId)
    }
    this.#reportRecovered(recovered, messages)
  }

  /** Reads the client IDs again. Most databases have no lost sessions, and all client IDs would take much memory. */
  async #readClientIds(generations: readonly Generation[]): Promise<ReadonlyMap<Generation, string>> {
    const wanted = new Set(generations)
    const found = new Map<Generation, string>()
    if (wanted.size === 0) return found
    for await (const slice of this.#database.readSlices(createKindRange('life'))) {
      for (const [key, value] of slice) {
        const generation = ignoreDamaged(() => readGeneration(key, value))
        if (generation !== undefined && wanted.has(generation)) found.set(generation, key.toString('utf8', 1))
      }
    }
    return found
  }

  /** Creates a session with the queue of a generation. Returns the number of its messages. */
  async #recoverSession(generation: Generation, clientId: string, expirySeconds: number): Promise<number> {
    let count = 0
    let last = 0
    for await (const slice of this.#readSlices('queued', generation, true)) {
      for (const [key] of slice) last = ignoreDamaged(() => readKeySequence(key)) ?? last
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
    const generations = new SessionGenerations(generation + 1)
    generations.recordGeneration(clientId, generation)
    encodeChange(operations, { change: 'put', record }, generations)
    await this.#database.write(operations, true)
    return count
  }

  /** Deletes the records of `deletedKinds`. Otherwise a later session of the same client would have them after a restart. */
  async #deleteOtherRecords(lost: readonly Generation[]): Promise<void> {
    for (const kind of deletedKinds) {
      for (const generation of await this.#findGenerationsWith(kind, lost)) {
        for await (const slice of this.#readSlices(kind, generation, true)) {
          const operations = new OperationList()
          for (const [key] of slice) operations.delete(key)
          await this.#database.write(operations, false)
        }
      }
    }
  }

  #reportRecovered(clientIds: readonly string[], messages: number): void {
    if (clientIds.length === 0) return
    const { directory, onAlarm } = this.#options
    const named = clientIds.slice(0, maxNamesInAlarm).map((clientId) => JSON.stringify(clientId))
    const more = clientIds.length > named.length ? ` and ${clientIds.length - named.length} more` : ''
    const text = `The records of ${clientIds.length} sessions in ${directory} were lost. Their ${messages} queued messages were moved to new sessions without subscriptions: ${named.join(', ')}${more}. The first client that connects with the client ID gets the messages that it may read.`
    onAlarm({ alarm: 'sessions-recovered', text })
  }

  /** Exports the queues of generations without records, and ends these generations. */
  async #endUnknownGenerations(): Promise<number> {
    const unknown = new Set<Generation>()
    for (const kind of sessionKinds) {
      for await (const generation of this.#walkGenerationsWith(kind))
        if (!this.#known.has(generation)) unknown.add(generation)
    }
    if (unknown.size === 0) return 0
    const file = `${this.#options.directory}.lost-messages.jsonl`
    let exported = 0
    for (const generation of unknown) exported += await this.#exportQueue(generation, file)
    const operations = new OperationList()
    for (const generation of unknown) encodeTombstone(operations, generation)
    await this.#database.write(operations, true)
    if (exported > 0) {
      const text = `${exported} queued messages in ${this.#options.directory} belong to sessions whose client IDs were lost. The messages were exported to ${file}; publish again what is still needed.`
      this.#options.onAlarm({ alarm: 'messages-exported', text })
    }
    return unknown.size
  }

  /** Appends a line for each readable message. Returns their number. */
  async #exportQueue(generation: Generation, file: string): Promise<number> {
    let count = 0
    for await (const slice of this.#readSlices('queued', generation, false)) {
      const lines: string[] = []
      for (const [key, value] of slice) {
        const record = this.#attempt([key, value], () => readRecord(key, value, ''))
        const line = record?.kind === 'queued' ? await this.#formatMessageLine(generation, record) : undefined
        if (line !== undefined) lines.push(line)
      }
      if (lines.length > 0) await appendFile(file, `${lines.join('\n')}\n`, { mode: 0o600, flush: true })
      count += lines.length
    }
    return count
  }

  /** Returns a message as JSON; undefined if its shared payload is lost. */
  async #formatMessageLine(
    generation: Generation,
    record: Extract<StoredRecord, { kind: 'queued' }>,
  ): Promise<string | undefined> {
    let { message } = record
    if (typeof message === 'number') {
      const key = encodePayloadKey(message)
      const value = await this.#database.get(key)
      const payloadRecord = value && this.#attempt([key, value], () => readRecord(key, value, ''))
      if (payloadRecord?.kind !== 'payload') return undefined
      message = payloadRecord.message
    }
    const { topic, payload, properties, publisher, publishedAtMs, expiresAtMs } = message
    return JSON.stringify({
      session: generation,
      sequence: record.sequence,
      topic,
      qos: record.qos,
      retain: record.retain,
      payload: toBase64(payload),
      properties: properties && {
        ...properties,
        correlationData: properties.correlationData && toBase64(properties.correlationData),
      },
      publisher,
      publishedAtMs,
      expiresAtMs,
    })
  }

  /** Returns those of the generations, in ascending order, that have a record of this kind. */
  async #findGenerationsWith(kind: SessionRecordKind, generations: readonly Generation[]): Promise<Generation[]> {
    const found: Generation[] = []
    let next: Generation | undefined = -1
    for (const generation of generations) {
      if (next < generation) next = await this.#findNextGenerationWith(kind, generation)
      if (next === undefined) break
      if (next === generation) found.push(generation)
    }
    return found
  }

  async *#walkGenerationsWith(kind: SessionRecordKind): AsyncIterable<Generation> {
    for (
      let generation = await this.#findNextGenerationWith(kind, 0);
      generation !== undefined;
      generation = await this.#findNextGenerationWith(kind, generation + 1)
    ) {
      yield generation
    }
  }

  /** Returns the lowest generation, from this one on, that has a record of this kind. */
  async #findNextGenerationWith(kind: SessionRecordKind, from: Generation): Promise<Generation | undefined> {
    const { lt } = createKindRange(kind)
    const key = await this.#database.findFirstKey({ gte: encodeSessionPrefix(kind, from), lt })
    return key === undefined ? undefined : readKeyGeneration(key)
  }

  #readSlices(kind: SessionRecordKind, generation: Generation, keysOnly: boolean): AsyncIterable<DatabaseEntry[]> {
    return this.#database.readSlices({
      gte: encodeSessionPrefix(kind, generation),
      lt: encodeSessionPrefix(kind, generation + 1),
      keysOnly,
    })
  }

  async #visitRecords(
    kind: Parameters<typeof createKindRange>[0],
    look: (entry: DatabaseEntry) => void,
  ): Promise<void> {
    const onDamage = (error: Error): void => this.#badRecords.reportUnreadable(error)
    for await (const slice of this.#database.readSlices(createKindRange(kind), onDamage)) {
      for (const entry of slice) this.#attempt(entry, look)
    }
  }

  #attempt<Value>(entry: DatabaseEntry, read: (entry: DatabaseEntry) => Value): Value | undefined {
    let isGood = false
    const value = this.#badRecords.tryRead(entry, (good) => {
      const made = read(good)
      isGood = true
      return made
    })
    if (!isGood) this.#badCount += 1
    return value
  }
}

/** Returns the client ID, or a digest if it is long. */
function toShortName(clientId: Buffer): string {
  return clientId.length <= maxNameBytes ? clientId.toString('utf8') : `\0${hash('sha256', clientId, 'base64')}`
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** A session record of a newer version exists, although this version cannot read it. */
function ignoreTooNew<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof RecordTooNew) return undefined
    throw error
  }
}

function ignoreDamaged<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof DamagedRecord) return undefined
    throw error
  }
}
