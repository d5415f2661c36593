// Keeps the one database of a process for all of its shards. It is the first to open it, so that what is damaged is
// found and mended before anybody relies on it, and the last to close it: what LevelDB caches belongs to its first user.
//
//   serving --renew--> probing --the disk takes writes--> recalling --all are out--> opening --> serving
//      ^                  |                                                            |
//      '--it does not ----'                                            failing <-------' (enter: tried again)
//
// A disk that takes nothing is everybody's matter: all are told at once, also those who have written nothing since. They
// take nothing any more that they could not keep, so none of them may be left to notice when it is over: the keeper looks.

import assert from 'node:assert/strict'
import { redistributePayloads } from './payload-redistribution.ts'
import { probeDisk } from './damage/database-files.ts'
import { markClosed } from './damage/clean-close-marker.ts'
import { openWithRepair } from './damage/open-with-repair.ts'
import type { LevelDatabase } from './level-database.ts'
import { toStorageFailure } from './storage-failures.ts'
import type { StoreNotice, StoreRequest } from './store-client.ts'
import type { StorageAlarm } from './store.ts'

export interface StoreOwnerOptions {
  /** The directory of the database alone. Made if missing. What is damaged is set aside beside it. */
  readonly directory: string
  /** Among how many shards sessions and topics are dealt out. */
  readonly shards: number
  /** How long a session is kept whose record was lost and made anew. Undefined: none is made anew. */
  readonly recoveredExpirySeconds: number | undefined
  readonly onAlarm: (alarm: StorageAlarm) => void
}

/** Opens the database, or makes it. Rejects with StorageFailure if another process has it or it cannot be written. */
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

/** One who joins, as the keeper sees it. */
export interface StoreConnection {
  /** What the one who joins asks. */
  handleRequest(request: StoreRequest): void
  /** Its thread has ended, and with it its handle. */
  disconnected(): void
}

interface ConnectedClient {
  /** `in`: it was let in and may have a handle. */
  state: 'out' | 'waiting' | 'in'
  readonly notify: (notice: StoreNotice) => void
  /** It waits for the answer to `renew`. */
  wantsReopen: boolean
}

/** Between two looks at a disk that takes nothing. */
const probeIntervalMs = 1_000

export class StoreOwner {
  readonly #options: StoreOwnerOptions
  readonly #clients = new Set<ConnectedClient>()
  #state: 'failing' | 'serving' | 'probing' | 'recalling' | 'opening' | 'closed'
  #database: LevelDatabase | undefined
  #suspectedDamage: string | undefined
  #isIntact: boolean
  /** Undefined before the first opening. Later ones change nothing of it: what shards hold may not be on disk yet. */
  #sharedPayloadsUpTo: number | undefined
  /** Why the disk takes nothing; all have been told. */
  #trouble: string | undefined
  #probeTimer: NodeJS.Timeout | undefined
  /** What is under way; `close` waits for it. */
  #inProgress: Promise<void>

  constructor(options: StoreOwnerOptions) {
    this.#options = options
    this.#state = 'failing'
    this.#database = undefined
    this.#suspectedDamage = undefined
    this.#isIntact = true
    this.#sharedPayloadsUpTo = undefined
    this.#trouble = undefined
    this.#probeTimer = undefined
    this.#inProgress = Promise.resolve()
  }

  /** A place for somebody who joins; `tell` brings what the keeper says to its `StoreSeat`. */
  storeClient(notify: (notice: StoreNotice) => void): StoreConnection {
    const client: ConnectedClient = { state: 'out', notify, wantsReopen: false }
    this.#clients.add(client)
    if (this.#trouble !== undefined) notify({ tell: 'ailing', why: this.#trouble })
    return {
      handleRequest: (request) => this.#handleRequest(client, request),
      disconnected: () => {
        this.#clients.delete(client)
        this.#handleLeft(client)
      },
    }
  }

  /** Rejects with StorageFailure. */
  async open(): Promise<void> {
    const { directory, shards, onAlarm } = this.#options
    const isFirst = this.#sharedPayloadsUpTo === undefined
    const recoveredExpirySeconds = isFirst ? this.#options.recoveredExpirySeconds : undefined
    this.#state = 'opening'
    try {
      await this.#closeDatabase()
      const opened = await openWithRepair({
        directory,
        suspectedDamage: this.#suspectedDamage,
        recoveredExpirySeconds,
        onAlarm,
      })
      this.#database = opened.database
      this.#suspectedDamage = undefined
      this.#isIntact = true
      this.#sharedPayloadsUpTo ??= await redistributePayloads(opened.database, shards)
      this.#state = 'serving'
      this.#reportRecovered()
    } catch (error) {
      this.#state = 'failing'
      throw toStorageFailure(`The database in ${directory} cannot be opened`, error)
    }
  }

  /** When everybody has left, or is gone. */
  async close(): Promise<void> {
    await this.#inProgress
    clearTimeout(this.#probeTimer)
    const isInOrder = this.#state === 'serving' && this.#isIntact && this.#suspectedDamage === undefined
    this.#state = 'closed'
    await this.#closeDatabase()
    if (isInOrder) await markClosed(this.#options.directory)
  }

  #handleRequest(client: ConnectedClient, request: StoreRequest): void {
    switch (request.ask) {
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
      // As long as the disk takes nothing what is open still serves readers.
      await probeDisk(this.#options.directory)
    } catch (error) {
      this.#state = 'serving'
      this.#grantAccess()
      return this.#reportFailure(toStorageFailure('The disk of the database takes nothing', error))
    }
    this.#state = 'recalling'
    for (const client of this.#clients) {
      if (client.state !== 'in') continue
      client.wantsReopen = false
      client.notify({ tell: 'recalled' })
    }
    this.#reopenWhenAllLeft()
  }

  /** Once: who is told that he is recalled may leave within that call, and be the last. */
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
      client.notify({ tell: 'granted', sharedPayloadsUpTo: this.#sharedPayloadsUpTo ?? 0 })
    }
  }

  /** To all who wait for an answer, and the trouble to all; whoever still has a handle keeps it. */
  #reportFailure(error: unknown): void {
    assert(error instanceof Error)
    this.#reportTrouble(error.message)
    for (const client of this.#clients) {
      if (client.state !== 'waiting' && !client.wantsReopen) continue
      if (client.state === 'waiting') client.state = 'out'
      client.wantsReopen = false
      client.notify({ tell: 'failing', why: error.message })
    }
  }

  #reportTrouble(why: string): void {
    clearTimeout(this.#probeTimer)
    this.#probeTimer = setTimeout(() => this.#probeAgain(), probeIntervalMs).unref()
    if (this.#trouble !== undefined) return
    this.#trouble = why
    for (const { notify } of this.#clients) notify({ tell: 'ailing', why })
  }

  #reportRecovered(): void {
    clearTimeout(this.#probeTimer)
    if (this.#trouble === undefined) return
    this.#trouble = undefined
    for (const { notify } of this.#clients) notify({ tell: 'serving' })
  }

  #probeAgain(): void {
    if (this.#trouble !== undefined && this.#state === 'serving') this.#run(() => this.#probeAndRecall())
  }

  async #closeDatabase(): Promise<void> {
    const database = this.#database
    this.#database = undefined
    await database?.close()
  }
}
