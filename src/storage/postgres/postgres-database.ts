// The partition of a shard as a set of pairs.

import type { Database, DatabaseEntry, EntryRange, Snapshot } from '../database/entry-database.ts'
import type { OperationList } from '../database/operation-list.ts'
import type { KeyRange } from '../encoding/record-keys.ts'
import { encodeOperations, type EncodedBatch } from './encoded-batch.ts'
import { RangeStatements } from './range-statements.ts'
import type { ReadConnections } from './read-connections.ts'
import type { ShardWriter } from './shard-writer.ts'
import { SnapshotGroup } from './snapshot-group.ts'

export interface PostgresDatabaseOptions {
  readonly shard: number
  readonly writer: ShardWriter
  readonly connections: ReadConnections
  /** A batch is durable. */
  readonly onWritten: (batch: EncodedBatch) => void
}

/** A round trip takes as long as hundreds of rows. Slices have a limit of bytes as well. */
const defaultSlices = { first: 256, max: 4_096 }

export class PostgresDatabase implements Database {
  readonly #options: PostgresDatabaseOptions
  readonly #statements: RangeStatements
  /** Increased when a batch is passed to the writer, and when it is durable. */
  #version = 0
  #group: SnapshotGroup | undefined

  constructor(options: PostgresDatabaseOptions) {
    this.#options = options
    this.#statements = new RangeStatements(options.shard)
  }

  /** Always durable when it resolves. Rejects with ShardStopped. */
  async write(operations: OperationList): Promise<void> {
    const batch = encodeOperations(operations)
    this.#version += 1
    await this.#options.writer.write(batch)
    this.#version += 1
    this.#options.onWritten(batch)
  }

  get(key: Buffer): Promise<Buffer | undefined> {
    return this.#readOnce((snapshot) => snapshot.get(key))
  }

  getMany(keys: Buffer[]): Promise<(Buffer | undefined)[]> {
    return this.#readOnce((snapshot) => snapshot.getMany(keys))
  }

  findLastKey(range: KeyRange): Promise<Buffer | undefined> {
    return this.#readOnce((snapshot) => snapshot.findLastKey(range))
  }

  async *readSlices(range: EntryRange): AsyncIterable<DatabaseEntry[]> {
    const snapshot = this.takeSnapshot()
    try {
      yield* snapshot.readSlices(range)
    } finally {
      await snapshot.close()
    }
  }

  /** The state at the first read of it. A batch that is being written meanwhile may be included. */
  takeSnapshot(): Snapshot {
    return new PostgresSnapshot(() => this.#joinGroup())
  }

  #joinGroup(): SnapshotGroup {
    if (this.#group?.isCurrent !== true) {
      const { connections } = this.#options
      this.#group = new SnapshotGroup({ connections, statements: this.#statements, getVersion: () => this.#version })
    }
    this.#group.join()
    return this.#group
  }

  async #readOnce<Result>(read: (snapshot: Snapshot) => Promise<Result>): Promise<Result> {
    const snapshot = this.takeSnapshot()
    try {
      return await read(snapshot)
    } finally {
      await snapshot.close()
    }
  }
}

class PostgresSnapshot implements Snapshot {
  readonly #join: () => SnapshotGroup
  #group: SnapshotGroup | undefined

  constructor(join: () => SnapshotGroup) {
    this.#join = join
  }

  async get(key: Buffer): Promise<Buffer | undefined> {
    const [entry] = await this.#getGroup().readKeys([key])
    return entry?.[1]
  }

  async getMany(keys: Buffer[]): Promise<(Buffer | undefined)[]> {
    if (keys.length === 0) return []
    const entries = await this.#getGroup().readKeys(keys)
    const values = new Map(entries.map(([key, value]) => [key.toString('latin1'), value]))
    return keys.map((key) => values.get(key.toString('latin1')))
  }

  async findLastKey({ gte, lt }: KeyRange): Promise<Buffer | undefined> {
    const order = { isReverse: true, keysOnly: true }
    const { entries } = await this.#getGroup().readSlice({ low: gte, high: lt, limit: 1 }, order)
    return entries[0]?.[0]
  }

  async *readSlices(range: EntryRange): AsyncIterable<DatabaseEntry[]> {
    const order = { isReverse: range.reverse === true, keysOnly: range.keysOnly === true }
    const { first, max } = range.slices ?? defaultSlices
    let left = range.limit ?? Infinity
    let { gte: low, lt: high } = range
    // A read with a limit is one statement if it is not too long.
    let size = left <= max ? left : first
    while (left > 0) {
      const limit = Math.min(size, left)
      const { entries, hasMore } = await this.#getGroup().readSlice({ low, high, limit }, order)
      const last = entries.at(-1)?.[0]
      if (last === undefined) return
      yield entries
      left -= entries.length
      if (!hasMore) return
      if (order.isReverse) high = last
      else low = Buffer.concat([last, Buffer.alloc(1)])
      size = Math.min(size * 2, max)
    }
  }

  async close(): Promise<void> {
    const group = this.#group
    this.#group = undefined
    group?.leave()
  }

  #getGroup(): SnapshotGroup {
    this.#group ??= this.#join()
    return this.#group
  }
}
