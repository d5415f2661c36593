// The simulated disk on a real store: LevelDB in a directory, or the store in memory that behaves like LevelDB.

import type { MessageRecordKey } from '../../src/core/index.ts'
import type { StoredChange, StoredMessage, StoredRecord } from '../../src/records/index.ts'
import {
  openLevelStore,
  openMemoryStore,
  type PartRequest,
  QueueReaders,
  readAllQueueBounds,
  type StorageAlarm,
  type Store,
} from '../../src/storage/index.ts'
import type { RecordDamage } from './record-damage.ts'
import { inStartOrder, startKinds, type RecordStore, type QueueSlice, type StartRecords } from './record-store.ts'

const failOnAlarm = (alarm: StorageAlarm): void => {
  throw new Error(`the store raised an alarm: ${alarm.text}`)
}

/** A store in memory outlives the broker, so it is opened once and never closed. */
export function realMemoryStore(damage?: RecordDamage): RealRecordStore {
  const memory = openMemoryStore(damage === undefined ? failOnAlarm : (alarm) => damage.noteAlarm(alarm))
  const store = damage === undefined ? memory : damage.wrap(memory)
  return new RealRecordStore({ open: () => Promise.resolve(store), close: () => Promise.resolve() })
}

export function realLevelStore(directory: string, damage?: RecordDamage): RealRecordStore {
  const onAlarm = damage === undefined ? failOnAlarm : (alarm: StorageAlarm): void => damage.noteAlarm(alarm)
  return new RealRecordStore({
    // These scenarios test what is written and read. They do not lose power.
    open: async () => {
      const store = await openLevelStore({ directory, sync: 'never', syncIntervalMs: 1_000, onAlarm })
      return damage === undefined ? store : damage.wrap(store)
    },
    close: (store) => store.close(),
  })
}

interface StoreFiles {
  open(): Promise<Store>
  close(store: Store): Promise<void>
}

export class RealRecordStore implements RecordStore {
  private readonly files: StoreFiles
  private opened: Store | undefined
  private readers: QueueReaders | undefined

  constructor(files: StoreFiles) {
    this.files = files
    this.opened = undefined
    this.readers = undefined
  }

  /** The open store. */
  get store(): Store {
    if (this.opened === undefined) throw new Error('the store is not open')
    return this.opened
  }

  async apply(changes: readonly StoredChange[]): Promise<void> {
    await this.store.commit(changes)
  }

  async readStart(): Promise<StartRecords> {
    const { store } = this
    const records = await this.readKinds(startKinds)
    const queues = await all(readAllQueueBounds(store))
    const payloadReferences = (await all(store.countPayloadReferences())).flat()
    return inStartOrder({ records, queues, payloadReferences })
  }

  /** Takes one step of the simulated disk; `SlowReads` takes several. */
  async readQueue(wanted: PartRequest): Promise<QueueSlice> {
    this.readers ??= new QueueReaders(this.store)
    return await this.readers.read(wanted)
  }

  async readMessage(of: MessageRecordKey): Promise<StoredMessage | undefined> {
    for await (const record of this.store.read(of))
      return record.kind === 'will' || record.kind === 'retained' ? record.message : undefined
    return undefined
  }

  async readAll(): Promise<StoredRecord[]> {
    return await this.readKinds([...startKinds, 'queued', 'payload'])
  }

  async reopen(): Promise<void> {
    await this.close()
    this.opened = await this.files.open()
  }

  async close(): Promise<void> {
    await this.readers?.closeAll()
    this.readers = undefined
    if (this.opened !== undefined) await this.files.close(this.opened)
    this.opened = undefined
  }

  private async readKinds(kinds: readonly StoredRecord['kind'][]): Promise<StoredRecord[]> {
    const found: StoredRecord[] = []
    for (const kind of kinds) for await (const record of this.store.read({ kind })) found.push(record)
    return found
  }
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const one of source) found.push(one)
  return found
}
