// Owns the database of a process for all of its shards. It opens the database first, so that damage is found and repaired before it
// is used, and closes it last: LevelDB's cache belongs to its first user.
//
//   serving --renew--> probing --the disk accepts writes--> recalling --all have left--> opening --> serving
//      ^                  |                                                               |
//      '--it does not ----'                                               failing <-------' (enter: tried again)
//
// A failing disk concerns all shards: all are told at once, also those that have written nothing since. They then accept nothing that
// they could not store, so none of them would notice the recovery: the store owner probes the disk.

import assert from 'node:assert/strict'
import { redistributePayloads, type Redistribution } from '../payloads/payload-redistribution.ts'
import { probeDisk } from '../database/database-files.ts'
import { markClosed } from '../damage/clean-close-marker.ts'
import { openWithRepair } from '../damage/open-with-repair.ts'
import type { LevelDatabase } from '../database/level-database.ts'
import { toStorageFailure } from './storage-failures.ts'
import type { StoreNotice, StoreRequest } from './store-client.ts'
import type { DirectoryIdentity } from '../database/directory-identity.ts'
import type { StorageAlarm } from '../store.ts'

export interface StoreOwnerOptions {
  /** Directory of the database only. Created if missing. Quarantine files are next to it. */
  readonly directory: string
  /** Number of shards that own sessions and topics. */
  readonly shards: number
  /** Session expiry of recreated sessions. Undefined: none is recreated. */
  readonly recoveredExpirySeconds: number | undefined
  readonly onAlarm: (alarm: StorageAlarm) => void
}

/** Opens or creates the database. Rejects with StorageFailure if another process has it open or it is not writable. */
export async function openStoreOwner(options: StoreOwnerOptions): Promise<StoreOwner> {
  const owner = new StoreOwner(options)
  try {
    await owner.open()
  } catch (error) {
    await owner.close()
    throw error
  }
  return owner
}

/** A shard, as the store owner sees it. */
export interface StoreConnection {
  /** Handles a request of the shard. */
  handleRequest(request: StoreRequest): void
  /** The shard's thread has ended, and its handle with it. */
  handleDisconnect(): void
}

interface ConnectedClient {
  /** `in`: it may have a handle. */
  state: 'out' | 'waiting' | 'in'
  readonly notify: (notice: StoreNotice) => void
  /** True if the shard waits for the response to `renew`. */
  wantsReopen: boolean
}

/** Time between two probes of a failing disk. */
const probeIntervalMs = 1_000
/** Each commit checks the directory. This interval is for a broker that commits nothing. */
const directoryIntervalMs = 5_000

export class StoreOwner {
  readonly #options: StoreOwnerOptions
  readonly #clients = new Set<ConnectedClient>()
  #state: 'failing' | 'serving' | 'probing' | 'recalling' | 'opening' | 'closed'
  #database: LevelDatabase | undefined
  #suspectedDamage: string | undefined
  #isIntact: boolean
  /**
   * Undefined before the first opening. Later ones do not change it, because sessions of shards may not be on disk yet.
   */
  #redistribution: Redistribution | undefined
  /** Failure of the disk, of which all shards were notified. */
  #trouble: string | undefined
  #probeTimer: NodeJS.Timeout | undefined
  readonly #directoryTimer: NodeJS.Timeout
  /** Of the last opening: another directory must not take its place, because shards have unwritten state of its sessions. */
  #identity: DirectoryIdentity | undefined
  /** The current task; `close` waits for it. */
  #inProgress: Promise<void>

  constructor(options: StoreOwnerOptions) {
    this.#options = options
    this.#state = 'failing'
    this.#database = undefined
    this.#suspectedDamage = undefined
    this.#isIntact = true
    this.#redistribution = undefined
    this.#trouble = undefined
    this.#probeTimer = undefined
    this.#directoryTimer = setInterval(() => this.#checkDirectory(), directoryIntervalMs).unref()
    this.#identity = undefined
    this.#inProgress = Promise.resolve()
  }

  /** See `Redistribution`. */
  get formerShards(): number | undefined {
    return this.#redistribution?.formerShards
  }

  /** Creates a connection for a shard; `notify` passes notices to its `StoreClient`. */
  connectClient(notify: (notice: StoreNotice) => void): StoreConnection {
    const client: ConnectedClient = { state: 'out', notify, wantsReopen: false }
    this.#clients.add(client)
    if (this.#trouble !== undefined) notify({ kind: 'ailing', why: this.#trouble })
    return {
      handleRequest: (request) => this.#handleRequest(client, request),
      handleDisconnect: () => {
        this.#clients.delete(client)
        this.#handleLeft(client)
      },
    }
  }

  /** Rejects with StorageFailure. */
  async open(): Promise<void> {
    const { directory, shards, onAlarm } = this.#options
    const isFirst = this.#redistribution === undefined
    const recoveredExpirySeconds = isFirst ? this.#options.recoveredExpirySeconds : undefined
    this.#state = 'opening'
    try {
      this.#identity?.check()
      await this.#closeDatabase()
      const opened = await openWithRepair({
        directory,
        suspectedDamage: this.#suspectedDamage,
        recoveredExpirySeconds,
        onAlarm,
      })
      this.#database = opened.database
      this.#identity = opened.database.identity
      this.#suspectedDamage = undefined
      this.#isIntact = true
      this.#redistribution ??= await redistributePayloads(opened.database, shards)
      this.#state = 'serving'
      this.#reportRecovered()
    } catch (error) {
      this.#state = 'failing'
      throw toStorageFailure(`The database in ${directory} cannot be opened`, error)
    }
  }

  /** Called when all shards have left or ended. */
  async close(): Promise<void> {
    await this.#inProgress
    clearTimeout(this.#probeTimer)
    clearInterval(this.#directoryTimer)
    const isInOrder = this.#state === 'serving' && this.#isIntact && this.#suspectedDamage === undefined
    this.#state = 'closed'
    await this.#closeDatabase()
    if (isInOrder) await markClosed(this.#options.directory)
  }

  #handleRequest(client: ConnectedClient, request: StoreRequest): void {
    switch (request.kind) {
      case 'enter':
        this.#suspectedDamage ??= request.suspectedDamage
        client.state = 'waiting'
        if (this.#state === 'failing') this.#run(() => this.#reopenForAll())
        else if (this.#state === 'serving' && request.suspectedDamage !== undefined)
          this.#run(() => this.#probeAndRecall())
        else if (this.#state === 'serving') this.#grantAccess()
        return
      case 'renew':
        this.#suspectedDamage ??= request.suspectedDamage
        this.#isIntact = false
        client.wantsReopen = true
        if (this.#state === 'serving') this.#run(() => this.#probeAndRecall())
        return
      case 'left':
        if (!request.isIntact) this.#isIntact = false
        return this.#handleLeft(client)
      default:
        request satisfies never
    }
  }

  #handleLeft(client: ConnectedClient): void {
    client.state = 'out'
    client.wantsReopen = false
    this.#reopenWhenAllLeft()
  }

  #run(act: () => Promise<void>): void {
    this.#inProgress = act()
  }

  async #probeAndRecall(): Promise<void> {
    this.#state = 'probing'
    try {
      // While the disk accepts no writes, the open database serves reads.
      this.#identity?.check()
      await probeDisk(this.#options.directory)
    } catch (error) {
      this.#state = 'serving'
      this.#grantAccess()
      return this.#reportFailure(toStorageFailure('Writing to the database fails', error))
    }
    this.#state = 'recalling'
    for (const client of this.#clients) {
      if (client.state !== 'in') continue
      client.wantsReopen = false
      client.notify({ kind: 'recalled' })
    }
    this.#reopenWhenAllLeft()
  }

  /** Called once: a shard that is recalled may leave within that call, and be the last. */
  #reopenWhenAllLeft(): void {
    if (this.#state !== 'recalling') return
    for (const { state } of this.#clients) if (state === 'in') return
    this.#run(() => this.#reopenForAll())
  }

  async #reopenForAll(): Promise<void> {
    try {
      await this.open()
      this.#grantAccess()
    } catch (error) {
      this.#reportFailure(error)
    }
  }

  #grantAccess(): void {
    for (const client of this.#clients) {
      if (client.state !== 'waiting') continue
      client.state = 'in'
      client.notify({ kind: 'granted', sharedPayloadsUpTo: this.#redistribution?.sharedPayloadsUpTo ?? 0 })
    }
  }

  /** Sent to all that wait for a response, and the failure to all; shards with a handle keep it. */
  #reportFailure(error: unknown): void {
    assert(error instanceof Error)
    this.#reportTrouble(error.message)
    for (const client of this.#clients) {
      if (client.state !== 'waiting' && !client.wantsReopen) continue
      if (client.state === 'waiting') client.state = 'out'
      client.wantsReopen = false
      client.notify({ kind: 'failing', why: error.message })
    }
  }

  #reportTrouble(why: string): void {
    clearTimeout(this.#probeTimer)
    this.#probeTimer = setTimeout(() => this.#probeAgain(), probeIntervalMs).unref()
    if (this.#trouble !== undefined) return
    this.#trouble = why
    for (const { notify } of this.#clients) notify({ kind: 'ailing', why })
  }

  #reportRecovered(): void {
    clearTimeout(this.#probeTimer)
    if (this.#trouble === undefined) return
    this.#trouble = undefined
    for (const { notify } of this.#clients) notify({ kind: 'serving' })
  }

  #probeAgain(): void {
    if (this.#trouble !== undefined && this.#state === 'serving') this.#run(() => this.#probeAndRecall())
  }

  #checkDirectory(): void {
    if (this.#trouble !== undefined || this.#state !== 'serving') return
    try {
      this.#identity?.check()
    } catch {
      this.#isIntact = false
      // It finds the same, and reports it.
      this.#run(() => this.#probeAndRecall())
    }
  }

  async #closeDatabase(): Promise<void> {
    const database = this.#database
    this.#database = undefined
    await database?.close()
  }
}
