// A store after the end of a process, and its records: the acknowledged ones, and all that ever existed.

import { cpSync, rmSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { StoredChange, StoredRecord } from '../../../src/records/index.ts'
import { openLevelStore, type Store } from '../../../src/storage/index.ts'
import type { Random } from '../../simulator/random.ts'
import { message, queued, session, subscription } from '../../storage/sample-records.ts'

export interface LeftStore {
  readonly directory: string
  /** By name: records that must exist. */
  readonly present: ReadonlyMap<string, StoredRecord>
  /** By name: all records that ever existed. */
  readonly ever: ReadonlyMap<string, readonly StoredRecord[]>
}

export const recoveredExpirySeconds = 3_600
const clients = 12

/** Each opening except the last turns the log into tables; the writes of the last opening stay in the log. */
export async function leaveStore(directory: string, random: Random, how: 'closed' | 'killed'): Promise<LeftStore> {
  const writer = new Writer(random)
  const openings = random.between(1, 4)
  for (let opening = 1; opening <= openings; opening++) {
    const store = await openStore(directory, () => {})
    await writer.write(store, random.between(5, 60))
    if (opening === openings && how === 'killed') cpSync(directory, `${directory}.kill`, { recursive: true })
    await store.close()
  }
  if (how === 'killed') {
    rmSync(directory, { recursive: true })
    cpSync(`${directory}.kill`, directory, { recursive: true })
    rmSync(`${directory}.kill`, { recursive: true })
  }
  return { directory, present: writer.present, ever: writer.ever }
}

export async function openStore(directory: string, onAlarm: (text: string) => void): Promise<Store> {
  return await openLevelStore({
    directory,
    sync: 'commit',
    syncIntervalMs: 1_000,
    recoveredExpirySeconds,
    onAlarm: ({ alarm, text }) => onAlarm(`${alarm}: ${text}`),
  })
}

/** Returns the name of a record, which does not depend on its content. */
export function nameOf(record: StoredRecord): string {
  switch (record.kind) {
    case 'session':
      return `session ${record.clientId}`
    case 'subscription':
      return `subscription ${record.clientId} ${record.filter}`
    case 'queued':
      return `queued ${record.clientId} ${record.sequence}`
    case 'retained':
      return `retained ${record.message.topic}`
    case 'payload':
      return `payload ${record.id}`
    default:
      return record.kind
  }
}

class Writer {
  readonly present = new Map<string, StoredRecord>()
  readonly ever = new Map<string, StoredRecord[]>()
  readonly #random: Random
  #sequence = 1
  #body = 1

  constructor(random: Random) {
    this.#random = random
  }

  async write(store: Store, batches: number): Promise<void> {
    for (let batch = 0; batch < batches; batch++) {
      const changes: StoredChange[] = []
      const steps = this.#random.between(1, 30)
      for (let step = 0; step < steps; step++) changes.push(...this.#step())
      await store.commit(changes)
    }
  }

  #step(): StoredChange[] {
    const clientId = `client-${this.#random.between(1, clients)}`
    const there = this.present.has(`session ${clientId}`)
    const choice = this.#random.fraction()
    if (!there) return this.#put(session(clientId, 1), subscription(clientId, 'a/#'))
    if (choice < 0.02) return this.#endSession(clientId)
    if (choice < 0.1) return this.#put(this.#retained())
    if (choice < 0.2) return this.#put(session(clientId, this.#random.between(1, 1_000)))
    if (choice < 0.4) return this.#deleteOldest(clientId)
    if (choice < 0.5) {
      const id = this.#body++
      const body: StoredRecord = { kind: 'payload', id, message: message('a/b', this.#payload()) }
      return this.#put(body, queued(clientId, this.#sequence++, id))
    }
    return this.#put(queued(clientId, this.#sequence++, this.#payload()))
  }

  #payload(): string {
    const bytes = this.#random.fraction() < 0.05 ? this.#random.between(1, 20_000) : this.#random.between(0, 300)
    if (this.#random.fraction() < 0.5) return 'payload '.repeat(bytes / 8)
    return String.fromCharCode(...Array.from({ length: bytes }, () => this.#random.between(1, 127)))
  }

  #retained(): StoredRecord {
    return {
      kind: 'retained',
      message: { ...message(`r/${this.#random.between(1, 50)}`, this.#payload()), retain: true },
    }
  }

  #put(...records: StoredRecord[]): StoredChange[] {
    for (const record of records) {
      const name = nameOf(record)
      this.present.set(name, record)
      this.ever.set(name, [...(this.ever.get(name) ?? []), record])
    }
    return records.map((record) => ({ change: 'put', record }))
  }

  #deleteOldest(clientId: string): StoredChange[] {
    for (const [name, record] of this.present) {
      if (record.kind !== 'queued' || record.clientId !== clientId) continue
      this.present.delete(name)
      return [{ change: 'delete', key: { kind: 'queued', clientId, sequence: record.sequence } }]
    }
    return []
  }

  #endSession(clientId: string): StoredChange[] {
    for (const [name, record] of this.present) {
      if ('clientId' in record && record.clientId === clientId) this.present.delete(name)
    }
    return [{ change: 'delete-session', clientId }]
  }
}

export function isOneOf(record: StoredRecord, versions: readonly StoredRecord[] | undefined): boolean {
  return versions?.some((version) => isDeepStrictEqual(version, record)) === true
}
