// The storage of the simulated disk: in memory here, in the real store in `real-record-store.ts`. Only the real store takes real time,
// so each result may be a promise.

import assert from 'node:assert/strict'
import type { MessageRecordKey } from '../../src/core/index.ts'
import type { RecordKey, StoredChange, StoredMessage, StoredRecord } from '../../src/records/index.ts'
import type { PartRequest } from '../../src/storage/index.ts'

/** The records that a broker reads when it starts. */
export interface StartRecords {
  /** Records of all kinds except `queued` and `payload`, in the order of `startKinds`. */
  readonly records: StoredRecord[]
  readonly queues: { clientId: string; firstSequence: number; lastSequence: number; count: number }[]
  readonly payloadReferences: (readonly [payloadId: number, references: number])[]
}

type QueuedRecord = StoredRecord & { kind: 'queued' }

export interface QueueSlice {
  /** With their payloads. */
  readonly records: readonly StoredRecord[]
  readonly isEnd: boolean
}

export type Eventually<T> = T | Promise<T>

export interface RecordStore {
  apply(changes: readonly StoredChange[]): Eventually<void>
  readStart(): Eventually<StartRecords>
  readQueue(wanted: PartRequest): Eventually<QueueSlice>
  readMessage(of: MessageRecordKey): Eventually<StoredMessage | undefined>
  /** All records, for the checks at the end. */
  readAll(): Eventually<StoredRecord[]>
  /** The process that used the store has ended; the next one opens it. */
  reopen(): Eventually<void>
  close(): Eventually<void>
}

/** Continues at once if the value is not a promise, so that a world in memory needs no promises. */
export function whenReady<T, U>(value: Eventually<T>, goOn: (value: T) => Eventually<U>): Eventually<U> {
  return value instanceof Promise ? value.then(goOn) : goOn(value)
}

const keyOf = (record: StoredRecord | RecordKey): string => {
  switch (record.kind) {
    case 'session':
    case 'will':
      return `${record.kind}\n${record.clientId}`
    case 'subscription':
      return `${record.kind}\n${record.clientId}\n${record.filter}`
    case 'queued':
      return `${record.kind}\n${record.clientId}\n${record.sequence}`
    case 'payload':
      return `${record.kind}\n${record.id}`
    case 'outgoing':
    case 'incoming':
      return `${record.kind}\n${record.clientId}\n${record.packetId}`
    case 'retained':
      return `${record.kind}\n${'message' in record ? record.message.topic : record.topic}`
    case 'forwarded':
      return `${record.kind}\n${record.shard}\n${record.packetId}\n${record.publisher}`
    case 'handoff':
      return `${record.kind}\n${record.shard}\n${record.name}`
    case 'fact':
      return `${record.kind}\n${record.name}`
    case 'credential':
    case 'gateway-user':
    case 'scram':
    case 'psk':
    case 'rule':
    case 'ban':
    case 'account':
    case 'api-key':
    case 'namespace':
      return assert.fail(`the broker of the simulator stores no ${record.kind}`)
    default:
      return record satisfies never
  }
}

/** The kinds that a broker reads when it starts, in the order in which it receives them. */
export const startKinds = [
  'fact',
  'session',
  'subscription',
  'outgoing',
  'incoming',
  'will',
  'retained',
  'forwarded',
  'handoff',
] as const satisfies readonly StoredRecord['kind'][]

const ranks: readonly string[] = startKinds
const rank = (record: StoredRecord): string => `${ranks.indexOf(record.kind)} ${keyOf(record)}`

/** The order in which a broker receives its records. It does not depend on the store, so scenarios are the same with each store. */
export function inStartOrder(found: StartRecords): StartRecords {
  return {
    records: found.records.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1)),
    queues: found.queues.toSorted((one, other) => (one.clientId < other.clientId ? -1 : 1)),
    payloadReferences: found.payloadReferences.toSorted(([one], [other]) => one - other),
  }
}

export class MemoryRecordStore implements RecordStore {
  private readonly records = new Map<string, StoredRecord>()
  /** Snapshot of each queue at the read of its first part: a real store may read later parts from this snapshot. */
  private readonly snapshots = new Map<string, readonly QueuedRecord[]>()

  apply(changes: readonly StoredChange[]): void {
    for (const change of changes) {
      if (change.change === 'put') this.records.set(keyOf(change.record), change.record)
      else if (change.change === 'delete') this.records.delete(keyOf(change.key))
      else if (change.change === 'delete-session') this.deleteSession(change.clientId)
      else this.renameSession(change.clientId, change.to)
    }
  }

  readStart(): StartRecords {
    const records: StoredRecord[] = []
    const queues = new Map<string, StartRecords['queues'][number]>()
    const payloadReferences = new Map<number, number>()
    for (const record of this.records.values()) {
      if (record.kind === 'payload') payloadReferences.set(record.id, payloadReferences.get(record.id) ?? 0)
      else if (record.kind !== 'queued') records.push(copyOf(record))
      else {
        const queue = queues.get(record.clientId)
        if (typeof record.message === 'number')
          payloadReferences.set(record.message, (payloadReferences.get(record.message) ?? 0) + 1)
        queues.set(record.clientId, {
          clientId: record.clientId,
          firstSequence: Math.min(record.sequence, queue?.firstSequence ?? Infinity),
          lastSequence: Math.max(record.sequence, queue?.lastSequence ?? 0),
          count: (queue?.count ?? 0) + 1,
        })
      }
    }
    return inStartOrder({ records, queues: [...queues.values()], payloadReferences: [...payloadReferences] })
  }

  readQueue({ clientId, fromSequence, limit, part }: PartRequest): QueueSlice {
    const kept = part === undefined || part === 0 ? undefined : this.snapshots.get(clientId)
    const earlier = (kept ?? []).filter(({ sequence }) => sequence >= fromSequence).slice(0, limit)
    if (earlier.length === limit) return { records: earlier.map(copyOf), isEnd: false }
    const snapshot = this.queueOf(clientId)
    if (part !== undefined) this.snapshots.set(clientId, snapshot)
    const readTo = earlier.at(-1)?.sequence ?? fromSequence - 1
    const later = snapshot.filter(({ sequence }) => sequence > readTo).slice(0, limit - earlier.length)
    const records = [...earlier, ...later].map(copyOf)
    return { records, isEnd: records.length < limit }
  }

  readMessage(of: MessageRecordKey): StoredMessage | undefined {
    const record = this.records.get(keyOf(of))
    return record?.kind === 'will' || record?.kind === 'retained' ? copyOf(record.message) : undefined
  }

  /** Does not copy: records of the store are replaced, never changed. */
  private queueOf(clientId: string): QueuedRecord[] {
    const queue: QueuedRecord[] = []
    for (const record of this.records.values())
      if (record.kind === 'queued' && record.clientId === clientId) queue.push(this.withPayload(record))
    return queue.sort((one, other) => one.sequence - other.sequence)
  }

  readAll(): StoredRecord[] {
    return [...this.records.values()]
  }

  reopen(): void {
    // The memory outlives the broker, as a disk does.
  }

  close(): void {
    // Nothing is open.
  }

  private withPayload(record: QueuedRecord): QueuedRecord {
    if (typeof record.message !== 'number') return record
    const payload = this.records.get(`payload\n${record.message}`)
    if (payload?.kind !== 'payload')
      throw new Error(
        `queued record ${record.clientId}/${record.sequence} refers to payload ${record.message}, which is not on disk`,
      )
    return { ...record, message: payload.message, payloadId: payload.id }
  }

  private renameSession(clientId: string, to: string): void {
    const isDone = [...this.records.values()].some((record) => 'clientId' in record && record.clientId === to)
    if (isDone) return this.deleteSession(clientId)
    for (const [key, record] of this.records) {
      if (!('clientId' in record) || record.clientId !== clientId) continue
      const renamed = { ...record, clientId: to } as StoredRecord
      this.records.delete(key)
      this.records.set(keyOf(renamed), renamed)
    }
  }

  private deleteSession(clientId: string): void {
    for (const [key, record] of this.records) {
      if ('clientId' in record && record.clientId === clientId) this.records.delete(key)
    }
  }
}

/** structuredClone would copy the whole buffer of a payload, and would return another type than Buffer. */
function copyOf<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return Buffer.from(value) as Uint8Array as T
  if (Array.isArray(value)) return value.map(copyOf) as T
  // A scenario copies many records. Adding properties is much faster than creating an object from entries.
  const copy: Record<string, unknown> = {}
  for (const name of Object.keys(value)) copy[name] = copyOf((value as Record<string, unknown>)[name])
  return copy as T
}

/** Copies changes when they are passed to the disk, so that later changes in the broker do not affect them. */
export function frozenChanges(changes: readonly (StoredChange | undefined)[]): StoredChange[] {
  return changes
    .filter((change) => change !== undefined)
    .map((change) => (change.change === 'put' ? copyOf(change) : change))
}
