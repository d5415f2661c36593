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
import { mendAfterDealing } from './payload-redistribution.ts'
import { probeDisk } from './damage/database-files.ts'
import { closeSeal } from './damage/clean-close-marker.ts'
import { openSoundly } from './damage/open-with-repair.ts'
import type { LevelDatabase } from './level-database.ts'
import { storageFailureOf } from './storage-failures.ts'
import type { SeatNotice, SeatRequest } from './store-client.ts'
import type { StorageAlarm } from './store.ts'

export interface StoreKeeperOptions {
  /** The directory of the database alone. Made if missing. What is damaged is set aside beside it. */
  readonly directory: string
  /** Among how many shards sessions and topics are dealt out. */
  readonly shards: number
  /** How long a session is kept whose record was lost and made anew. Undefined: none is made anew. */
  readonly recoveredExpirySeconds: number | undefined
  readonly onAlarm: (alarm: StorageAlarm) => void
}

/** Opens the database, or makes it. Rejects with StorageFailure if another process has it or it cannot be written. */
export async function openStoreKeeper(options: StoreKeeperOptions): Promise<StoreKeeper> {
  const keeper = new StoreKeeper(options)
  try {
    await keeper.open()
  } catch (error) {
    await keeper.close()
    throw error
  }
  return keeper
}

/** One who joins, as the keeper sees it. */
export interface KeptSeat {
  /** What the one who joins asks. */
  note(request: SeatRequest): void
  /** Its thread has ended, and with it its handle. */
  gone(): void
}

interface Seat {
  /** `in`: it was let in and may have a handle. */
  state: 'out' | 'waiting' | 'in'
  readonly tell: (notice: SeatNotice) => void
  /** It waits for the answer to `renew`. */
  wantsRenewal: boolean
}

/** Between two looks at a disk that takes nothing. */
const lookAgainMs = 1_000

export class StoreKeeper {
  readonly #options: StoreKeeperOptions
  readonly #seats = new Set<Seat>()
  #state: 'failing' | 'serving' | 'probing' | 'recalling' | 'opening' | 'closed'
  #database: LevelDatabase | undefined
  #suspicion: string | undefined
  #isSound: boolean
  /** Undefined before the first opening. Later ones change nothing of it: what shards hold may not be on disk yet. */
  #sharedBodiesUpTo: number | undefined
  /** Why the disk takes nothing; all have been told. */
  #trouble: string | undefined
  #nextLook: NodeJS.Timeout | undefined
  /** What is under way; `close` waits for it. */
  #underWay: Promise<void>

  constructor(options: StoreKeeperOptions) {
    this.#options = options
    this.#state = 'failing'
    this.#database = undefined
    this.#suspicion = undefined
    this.#isSound = true
    this.#sharedBodiesUpTo = undefined
    this.#trouble = undefined
    this.#nextLook = undefined
    this.#underWay = Promise.resolve()
  }

  /** A place for somebody who joins; `tell` brings what the keeper says to its `StoreSeat`. */
  seat(tell: (notice: SeatNotice) => void): KeptSeat {
    const seat: Seat = { state: 'out', tell, wantsRenewal: false }
    this.#seats.add(seat)
    if (this.#trouble !== undefined) tell({ tell: 'ailing', why: this.#trouble })
    return {
      note: (request) => this.#note(seat, request),
      gone: () => {
        this.#seats.delete(seat)
        this.#leave(seat)
      },
    }
  }

  /** Rejects with StorageFailure. */
  async open(): Promise<void> {
    const { directory, shards, onAlarm } = this.#options
    const isFirst = this.#sharedBodiesUpTo === undefined
    const recoveredExpirySeconds = isFirst ? this.#options.recoveredExpirySeconds : undefined
    this.#state = 'opening'
    try {
      await this.#closeDatabase()
      const opened = await openSoundly({ directory, suspicion: this.#suspicion, recoveredExpirySeconds, onAlarm })
      this.#database = opened.database
      this.#suspicion = undefined
      this.#isSound = true
      this.#sharedBodiesUpTo ??= await mendAfterDealing(opened.database, shards)
      this.#state = 'serving'
      this.#tellServing()
    } catch (error) {
      this.#state = 'failing'
      throw storageFailureOf(`The database in ${directory} cannot be opened`, error)
    }
  }

  /** When everybody has left, or is gone. */
  async close(): Promise<void> {
    await this.#underWay
    clearTimeout(this.#nextLook)
    const isInOrder = this.#state === 'serving' && this.#isSound && this.#suspicion === undefined
    this.#state = 'closed'
    await this.#closeDatabase()
    if (isInOrder) await closeSeal(this.#options.directory)
  }

  #note(seat: Seat, request: SeatRequest): void {
    switch (request.ask) {
      case 'enter':
        this.#suspicion ??= request.suspicion
        seat.state = 'waiting'
        if (this.#state === 'failing') this.#do(() => this.#openForAll())
        else if (this.#state === 'serving' && request.suspicion !== undefined) this.#do(() => this.#renew())
        else if (this.#state === 'serving') this.#letIn()
        return
      case 'renew':
        this.#suspicion ??= request.suspicion
        this.#isSound = false
        seat.wantsRenewal = true
        if (this.#state === 'serving') this.#do(() => this.#renew())
        return
      case 'left':
        if (!request.isSound) this.#isSound = false
        return this.#leave(seat)
      default:
        request satisfies never
    }
  }

  #leave(seat: Seat): void {
    seat.state = 'out'
    seat.wantsRenewal = false
    this.#openWhenAllAreOut()
  }

  #do(act: () => Promise<void>): void {
    this.#underWay = act()
  }

  async #renew(): Promise<void> {
    this.#state = 'probing'
    try {
      // As long as the disk takes nothing what is open still serves readers.
      await probeDisk(this.#options.directory)
    } catch (error) {
      this.#state = 'serving'
      this.#letIn()
      return this.#tellFailing(storageFailureOf('The disk of the database takes nothing', error))
    }
    this.#state = 'recalling'
    for (const seat of this.#seats) {
      if (seat.state !== 'in') continue
      seat.wantsRenewal = false
      seat.tell({ tell: 'recalled' })
    }
    this.#openWhenAllAreOut()
  }

  /** Once: who is told that he is recalled may leave within that call, and be the last. */
  #openWhenAllAreOut(): void {
    if (this.#state !== 'recalling') return
    for (const { state } of this.#seats) if (state === 'in') return
    this.#do(() => this.#openForAll())
  }

  async #openForAll(): Promise<void> {
    try {
      await this.open()
      this.#letIn()
    } catch (error) {
      this.#tellFailing(error)
    }
  }

  #letIn(): void {
    for (const seat of this.#seats) {
      if (seat.state !== 'waiting') continue
      seat.state = 'in'
      seat.tell({ tell: 'granted', sharedBodiesUpTo: this.#sharedBodiesUpTo ?? 0 })
    }
  }

  /** To all who wait for an answer, and the trouble to all; whoever still has a handle keeps it. */
  #tellFailing(error: unknown): void {
    assert(error instanceof Error)
    this.#tellAiling(error.message)
    for (const seat of this.#seats) {
      if (seat.state !== 'waiting' && !seat.wantsRenewal) continue
      if (seat.state === 'waiting') seat.state = 'out'
      seat.wantsRenewal = false
      seat.tell({ tell: 'failing', why: error.message })
    }
  }

  #tellAiling(why: string): void {
    clearTimeout(this.#nextLook)
    this.#nextLook = setTimeout(() => this.#lookAgain(), lookAgainMs).unref()
    if (this.#trouble !== undefined) return
    this.#trouble = why
    for (const { tell } of this.#seats) tell({ tell: 'ailing', why })
  }

  #tellServing(): void {
    clearTimeout(this.#nextLook)
    if (this.#trouble === undefined) return
    this.#trouble = undefined
    for (const { tell } of this.#seats) tell({ tell: 'serving' })
  }

  #lookAgain(): void {
    if (this.#trouble !== undefined && this.#state === 'serving') this.#do(() => this.#renew())
  }

  async #closeDatabase(): Promise<void> {
    const database = this.#database
    this.#database = undefined
    await database?.close()
  }
}
