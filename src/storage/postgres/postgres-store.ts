// The store of one shard of a cluster: the pairs of LevelDB in a partition of PostgreSQL. Only the home of the shard opens it.

import assert from 'node:assert/strict'
import { BadRecords } from '../damage/bad-records.ts'
import { findNextGeneration } from '../database/find-next-generation.ts'
import { OperationList } from '../database/operation-list.ts'
import { SessionGenerations } from '../database/session-generations.ts'
import type { Generation } from '../encoding/record-keys.ts'
import { PayloadCache } from '../payloads/payload-cache.ts'
import { PayloadGc } from '../payloads/payload-gc.ts'
import { ReadingInterrupted, type StorageAlarm, StorageFailure, type Store } from '../store.ts'
import { encodeBatch, loadGenerations } from '../stores/batch-encoding.ts'
import { DatabaseStore, type OpenDatabase, type StoreBackend } from '../stores/database-store.ts'
import { ExclusiveTasks } from '../stores/exclusive-tasks.ts'
import { CommitProtocol, type ServerTimeline } from './commit-protocol.ts'
import { CommitStatements, type ShardHome } from './commit-statements.ts'
import type { EncodedBatch } from './encoded-batch.ts'
import { PartitionUpkeep } from './partition-upkeep.ts'
import { PostgresDatabase } from './postgres-database.ts'
import { PostgresQuarantine } from './postgres-quarantine.ts'
import { ReadConnections } from './read-connections.ts'
import { vacuumThreshold } from './schema-statements.ts'
import type { ServerIdentity } from './server-checks.ts'
import { type ShardStopped, ShardWriter } from './shard-writer.ts'
import type { StoreAddress } from './store-address.ts'
import { StoreAlarms } from './store-alarms.ts'

type Changes = Parameters<Store['commit']>[0]

export interface PostgresStoreOptions {
  readonly address: StoreAddress
  /** The row of the shard names this epoch and life: the node has taken the shard. */
  readonly home: ShardHome
  /** The server that confirmed that; undefined: any. An older timeline is never used. */
  readonly server?: ServerTimeline
  /** Something below the server replicates it, so it needs no synchronous standby. */
  readonly isReplicated: boolean
  readonly onAlarm: (alarm: StorageAlarm) => void
  readonly onAlarmEnd: (alarm: StorageAlarm['alarm']) => void
  /** Called with each reference to a shared payload that was deleted with a session. */
  readonly onReleased?: (payloadIds: readonly number[]) => void
  /** Called when nothing can be stored for now, with the reason, and with undefined when it can be stored again. */
  readonly onTrouble?: (trouble: string | undefined) => void
  /** This home must not do anything for the shard any more. Later commits are rejected. */
  readonly onStopped: (stopped: ShardStopped) => void
}

export interface PostgresStore extends Store {
  /** Another node uses this server: an older timeline is not used any more. */
  handleReportedServer(server: ServerTimeline): void
}

/** Confirmed batches that are kept, so that they can be repeated when a standby without them was promoted. */
const maxKeptBytes = 8 * 1_024 * 1_024

/** Resolves when the database was reached and can be read. Rejects with StorageFailure or ShardStopped. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const tasks = new ExclusiveTasks()
  const backend = new PostgresBackend(options, tasks)
  const store = new DatabaseStore(options, backend, tasks)
  try {
    await backend.open()
  } catch (error) {
    await backend.close()
    throw error
  }
  return Object.assign(store, {
    handleReportedServer: (server: ServerTimeline) => backend.handleReportedServer(server),
  })
}

class PostgresBackend implements StoreBackend {
  readonly keepsSnapshots = false
  readonly #options: PostgresStoreOptions
  readonly #tasks: ExclusiveTasks
  readonly #alarms: StoreAlarms
  readonly #connections: ReadConnections
  readonly #writer: ShardWriter
  readonly #upkeep: PartitionUpkeep
  readonly #database: PostgresDatabase
  readonly #operations = new OperationList()
  #opening: OpenDatabase | undefined
  #payloadGc: PayloadGc | undefined
  readonly #countedGenerations = new Set<Generation>()
  #server: ServerIdentity | undefined
  #stopped: ShardStopped | undefined
  #isClosed = false

  constructor(options: PostgresStoreOptions, tasks: ExclusiveTasks) {
    const { address, home, server, isReplicated } = options
    this.#options = options
    this.#tasks = tasks
    this.#alarms = new StoreAlarms({ ...options, shard: home.shard, isReplicated })
    this.#connections = new ReadConnections(address)
    const protocol = new CommitProtocol<EncodedBatch>({ home, server, maxKeptBytes })
    this.#writer = new ShardWriter({
      address,
      statements: new CommitStatements(home),
      protocol,
      callbacks: {
        onReady: (ready) => this.#handleReady(ready),
        onUnready: (why) => this.#handleUnready(why),
        onDurable: (sequence, standbyNames) => this.#alarms.recordDurable(sequence, standbyNames),
        onRepeated: (first, last) => this.#alarms.recordRepeated(first, last),
        onStopped: (stopped) => this.#handleStopped(stopped),
      },
    })
    this.#upkeep = new PartitionUpkeep({
      address,
      shard: home.shard,
      threshold: vacuumThreshold,
      getServer: () => this.#server,
      onSnapshot: (text) => this.#alarms.setSnapshot(text),
      onFailure: (text) => options.onAlarm({ alarm: 'maintenance-failed', text }),
    })
    this.#database = new PostgresDatabase({
      shard: home.shard,
      writer: this.#writer,
      connections: this.#connections,
      onWritten: ({ deletes }) => this.#upkeep.recordDeletes(deletes),
    })
  }

  get opening(): OpenDatabase | undefined {
    return this.#opening
  }

  async open(): Promise<void> {
    this.#writer.start()
    await this.waitUntilOpen()
    if (this.#stopped !== undefined) throw this.#stopped
    const { home, address } = this.#options
    const database = this.#database
    const badRecords = new BadRecords({
      database,
      quarantine: new PostgresQuarantine(address, home.shard),
      onAlarm: this.#options.onAlarm,
      runExclusively: (act) => this.#tasks.run(act),
      onUnreadable: (error) => {
        throw error
      },
    })
    const firstFree = await this.#retry(() => findNextGeneration(database, home.shard))
    this.#opening = {
      database,
      badRecords,
      generations: new SessionGenerations(firstFree),
      sharedPayloadsUpTo: 0,
      payloads: new PayloadCache(),
      cachesGenerations: true,
    }
    this.#startGc()
  }

  getOpening(): OpenDatabase {
    assert(!this.#isClosed && this.#opening !== undefined, 'the store is closed')
    return this.#opening
  }

  async waitUntilOpen(): Promise<void> {
    await this.#connections.waitUntilReady()
  }

  async write(changes: Changes): Promise<void> {
    const opening = this.getOpening()
    const operations = this.#operations
    await this.#retry(() => loadGenerations(opening, changes))
    operations.clear()
    const ended = encodeBatch(operations, opening, this.#options.home.shard, changes)
    await this.#database.write(operations)
    for (const generation of ended) {
      this.#countedGenerations.add(generation)
      this.#payloadGc?.add(generation)
    }
  }

  /** The connections are opened again without being asked. */
  async reopen(): Promise<void> {
    this.getOpening()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    // A slice that is being written ends.
    const stopping = this.#payloadGc?.stop()
    this.#connections.close()
    await this.#writer.close()
    await Promise.all([stopping, this.#upkeep.close()])
  }

  handleReportedServer(server: ServerTimeline): void {
    this.#writer.handleReportedServer(server)
  }

  toReadFailure(error: unknown): unknown {
    return error
  }

  /** Repeats a read until no change of the server interrupts it. */
  async #retry<Result>(read: () => Promise<Result>): Promise<Result> {
    for (;;) {
      await this.waitUntilOpen()
      if (this.#stopped !== undefined) throw this.#stopped
      try {
        return await read()
      } catch (error) {
        if (!(error instanceof ReadingInterrupted)) throw error
      }
    }
  }

  #startGc(): void {
    this.#payloadGc = new PayloadGc(
      this.#database,
      {
        isCounted: (generation) => this.#countedGenerations.has(generation),
        onSwept: (generation) => void this.#countedGenerations.delete(generation),
        onReleased: (payloadIds) => this.#options.onReleased?.(payloadIds),
      },
      (error) => this.#handleGcFailure(error),
    )
    this.#payloadGc.start([this.#options.home.shard])
  }

  /** Tombstones that are left are found by the next collection, which starts when the database can be read again. */
  #handleGcFailure(error: unknown): void {
    this.#payloadGc = undefined
    if (this.#isClosed || this.#stopped !== undefined) return
    if (!(error instanceof StorageFailure)) throw error
    if (error instanceof ReadingInterrupted && this.#server !== undefined) return this.#startGc()
    if (error instanceof ReadingInterrupted) return
    const { shard } = this.#options.home
    const text = `Removing ended sessions of shard ${shard} failed, and continues when the database is reached again: ${error.message}.`
    this.#options.onAlarm({ alarm: 'maintenance-failed', text })
  }

  #handleReady(server: ServerIdentity): void {
    this.#server = server
    this.#connections.setServer(server)
    this.#options.onTrouble?.(undefined)
    if (this.#opening !== undefined && this.#payloadGc === undefined) this.#startGc()
  }

  #handleUnready(why: string): void {
    this.#server = undefined
    this.#connections.unsetServer()
    this.#options.onTrouble?.(why)
  }

  #handleStopped(stopped: ShardStopped): void {
    this.#stopped = stopped
    this.#alarms.recordStopped(stopped)
    this.#connections.close()
    this.#options.onStopped(stopped)
  }
}
