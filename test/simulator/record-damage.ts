// Loses stored records, and makes the reads of a store behave as the readers of src/storage do with damaged records:
//
//   payload missing   the store omits each queued record that refers to it, with an alarm (src/storage/payloads/payload-resolution.ts)
//   record damaged    a read omits the record, counts it for its limit, and deletes it (src/storage/damage/bad-records.ts)
//   block unreadable  reads do not find the records of a part of a queue (src/storage/database/level-database.ts)

import type { RecordKey, StoredChange, StoredMessage, StoredRecord } from '../../src/records/index.ts'
import type { QueueRange, StorageAlarm, Store } from '../../src/storage/index.ts'
import type { Random } from './random.ts'

export const damageKinds = ['payload-missing', 'record-damaged', 'block-unreadable'] as const
export type DamageKind = (typeof damageKinds)[number]

type Queued = StoredRecord & { kind: 'queued' }
type QueuedKey = Extract<RecordKey, { kind: 'queued' }>

/** Numbers of adjacent records that one damage affects: one record, a block of a table, many blocks. */
const damagedRuns = [1, 3, 17, 40, 300]

export class RecordDamage {
  /** Number of damaged records. */
  damaged: number
  private readonly random: Random
  /** Kind of the damage, by client and payload of a message. */
  private readonly kinds: Map<string, DamageKind>
  /** Lost payloads, by ID. */
  private readonly lost: Map<number, StoredMessage>
  /** Damaged records that still exist. */
  private readonly unreadable: Map<string, QueuedKey>
  /** Number of records that alarms reported as not delivered, by client. */
  private readonly reported: Map<string, number>

  constructor(random: Random) {
    this.damaged = 0
    this.random = random
    this.kinds = new Map()
    this.lost = new Map()
    this.unreadable = new Map()
    this.reported = new Map()
  }

  /** Undefined if the stored message of this client is whole. */
  kindOf(clientId: string, payload: string): DamageKind | undefined {
    return this.kinds.get(nameOf(clientId, payload))
  }

  reportedOf(clientId: string): number {
    return this.reported.get(clientId) ?? 0
  }

  noteAlarm({ alarm, text }: StorageAlarm): void {
    const found =
      /^The stored message of queued record \d+ of '(?<clientId>[^']+)' .*?(?:and of (?<more>\d+) more)? was lost/.exec(
        text,
      )
    const { clientId, more = '0' } = found?.groups ?? {}
    if (alarm !== 'body-missing' || clientId === undefined) throw new Error(`unexpected alarm of the store: ${text}`)
    this.reported.set(clientId, this.reportedOf(clientId) + 1 + Number(more))
  }

  /** Damages adjacent records that the store has now. */
  async damage(store: Store, kind: DamageKind): Promise<string> {
    if (kind === 'payload-missing') return await this.losePayloads(store)
    const queues = new Map<string, Queued[]>()
    for await (const record of store.read({ kind: 'queued' })) {
      if (record.kind !== 'queued') continue
      queues.set(record.clientId, [...(queues.get(record.clientId) ?? []), record])
    }
    const clientIds = [...queues.keys()].toSorted()
    if (clientIds.length === 0) return 'no queue is stored'
    const clientId = this.random.pick(clientIds)
    const affected = this.chooseAdjacent(queues.get(clientId) ?? [])
    const payloads = await payloadsIn(store)
    for (const { message } of affected) {
      const stored = typeof message === 'number' ? (payloads.get(message) ?? this.lost.get(message)) : message
      if (stored !== undefined) this.note(clientId, stored, kind)
    }
    const keys = affected.map(({ sequence }): QueuedKey => ({ kind: 'queued', clientId, sequence }))
    if (kind === 'record-damaged') for (const key of keys) this.unreadable.set(keyName(key), key)
    else await store.commit(keys.map((key) => ({ change: 'delete', key })))
    return `${kind}: ${affected.length} records of ${clientId} from ${affected[0]?.sequence} on`
  }

  /** The same store with reads that omit damaged records. */
  wrap(store: Store): Store {
    const replaces = (change: StoredChange | undefined): void => {
      if (change?.change === 'put' && change.record.kind === 'queued') this.unreadable.delete(keyName(change.record))
    }
    return {
      keepsSnapshots: store.keepsSnapshots,
      commit: (changes) => {
        changes.forEach(replaces)
        return store.commit(changes)
      },
      read: (range) => this.readWhole(store, range),
      readQueue: (range) => this.readQueue(store, range),
      scanQueues: () => store.scanQueues(),
      countPayloadReferences: () => this.countReferences(store),
      shareClientIds: () => store.shareClientIds(),
      reopen: () => store.reopen(),
      close: () => store.close(),
    }
  }

  private async losePayloads(store: Store): Promise<string> {
    const payloads = await payloadsIn(store)
    const ids = this.chooseAdjacent([...payloads.keys()].toSorted((one, other) => one - other))
    if (ids.length === 0) return 'no payload is stored'
    const affected = new Set(ids)
    for (const [id, payload] of payloads) if (affected.has(id)) this.lost.set(id, payload)
    for await (const record of store.read({ kind: 'queued' })) {
      if (record.kind !== 'queued' || typeof record.message !== 'number' || !affected.has(record.message)) continue
      const stored = payloads.get(record.message)
      if (stored !== undefined) this.note(record.clientId, stored, 'payload-missing')
    }
    await store.commit(ids.map((id) => ({ change: 'delete', key: { kind: 'payload', id } })))
    return `payload-missing: ${ids.length} payloads from ${ids[0]} on`
  }

  private chooseAdjacent<Item>(things: readonly Item[]): readonly Item[] {
    if (things.length === 0) return []
    const { random } = this
    const count = Math.min(things.length, random.pick(damagedRuns))
    const start = random.pick([0, things.length - count, random.between(0, things.length - count)])
    return things.slice(start, start + count)
  }

  private note(clientId: string, { payload }: StoredMessage, kind: DamageKind): void {
    this.damaged++
    this.kinds.set(nameOf(clientId, Buffer.from(payload).toString()), kind)
  }

  private async *readWhole(store: Store, range: Parameters<Store['read']>[0]): AsyncIterable<StoredRecord> {
    for await (const record of store.read(range)) if (!this.isUnreadable(record)) yield record
  }

  private async *readQueue(store: Store, range: QueueRange): AsyncIterable<readonly StoredRecord[]> {
    for await (const slice of store.readQueue(range)) {
      const whole = slice.filter((record) => !this.isUnreadable(record))
      if (whole.length < slice.length) {
        range.onOmitted?.(slice.length - whole.length)
        await this.quarantine(store, slice)
      }
      yield whole
    }
  }

  private async *countReferences(store: Store): ReturnType<Store['countPayloadReferences']> {
    await this.quarantine(store, [...this.unreadable.values()])
    yield* store.countPayloadReferences()
  }

  /** Deletes records that a read found damaged. */
  private async quarantine(store: Store, found: readonly (StoredRecord | RecordKey)[]): Promise<void> {
    const damaged = found.flatMap((record) => (this.isUnreadable(record) ? [keyName(record)] : []))
    const keys = damaged.flatMap((name) => this.unreadable.get(name) ?? [])
    await store.commit(keys.map((key) => ({ change: 'delete', key })))
  }

  private isUnreadable(record: StoredRecord | RecordKey): record is Queued {
    return record.kind === 'queued' && this.unreadable.has(keyName(record))
  }
}

async function payloadsIn(store: Store): Promise<Map<number, StoredMessage>> {
  const payloads = new Map<number, StoredMessage>()
  for await (const record of store.read({ kind: 'payload' }))
    if (record.kind === 'payload') payloads.set(record.id, record.message)
  return payloads
}

function nameOf(clientId: string, payload: string): string {
  return `${clientId} ${payload}`
}

function keyName({ clientId, sequence }: { readonly clientId: string; readonly sequence: number }): string {
  return `${clientId} ${sequence}`
}
