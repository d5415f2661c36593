// Single records that are damaged: a wrong checksum, or invalid bytes. They are copied to a quarantine for analysis and
// deleted from the database. One alarm reports all that are found together.

import { DamagedRecord, RecordTooNew } from '../encoding/record-byte-reader.ts'
import type { Database, DatabaseEntry } from '../database/entry-database.ts'
import { OperationList } from '../database/operation-list.ts'
import { readKeyKind } from '../encoding/record-keys.ts'
import type { StorageAlarm } from '../store.ts'

/** Maximum number of records waiting for quarantine; others remain and are found again. */
const maxWaitingRecords = 10_000

/** A record that could not be read, and why. */
export interface DamagedEntry {
  readonly entry: DatabaseEntry
  readonly reason: string
}

/** Keeps damaged records for analysis. */
export interface Quarantine {
  /** For messages. */
  readonly name: string
  add(damaged: readonly DamagedEntry[]): Promise<void>
}

export interface BadRecordsOptions {
  readonly database: Pick<Database, 'getMany' | 'write'>
  readonly quarantine: Quarantine
  readonly onAlarm: (alarm: StorageAlarm) => void
  /** Runs a function that must not run during a commit. */
  readonly runExclusively: (act: () => Promise<void>) => Promise<void>
  /** Part of the disk is unreadable: the database must be repaired at the next start. */
  readonly onUnreadable: (error: Error) => void
}

/** Collects damaged records found by reads, and moves them to quarantine. */
export class BadRecords {
  readonly #options: BadRecordsOptions
  readonly #damaged: DamagedEntry[] = []
  #tooNew: string[] = []
  #quarantining: Promise<void> = Promise.resolve()
  #isDue = false
  #isStopped = false

  constructor(options: BadRecordsOptions) {
    this.#options = options
  }

  /** Returns the result of `read`; undefined if the entry is damaged. */
  tryRead<Value>(entry: DatabaseEntry, read: (entry: DatabaseEntry) => Value): Value | undefined {
    try {
      return read(entry)
    } catch (error) {
      if (error instanceof RecordTooNew) this.#tooNew.push(error.message)
      else if (!(error instanceof DamagedRecord)) throw error
      else if (this.#damaged.length < maxWaitingRecords) this.#damaged.push({ entry, reason: error.message })
      this.#scheduleFlush()
      return undefined
    }
  }

  /** A part of the database could not be read at all. */
  reportUnreadable(error: Error): void {
    this.#options.onUnreadable(error)
  }

  /** Resolves when all found records are in quarantine. Must not be awaited in a turn. */
  async finish(): Promise<void> {
    await this.#quarantining
  }

  /** Records that are still waiting remain, unused, and are found again. */
  stop(): void {
    this.#isStopped = true
  }

  /** In a turn of its own, so that records of the same slice are included. */
  #scheduleFlush(): void {
    if (this.#isDue) return
    this.#isDue = true
    this.#quarantining = this.#options.runExclusively(async () => {
      this.#isDue = false
      if (!this.#isStopped) await this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const { quarantine, onAlarm } = this.#options
    const tooNew = this.#tooNew
    const damaged = this.#damaged.splice(0)
    this.#tooNew = []
    if (tooNew.length > 0) {
      const text = `${formatRecordCount(tooNew.length)} left alone and not used: ${tooNew[0]}. Use the newer Godwit again.`
      onAlarm({ alarm: 'records-too-new', text })
    }
    if (damaged.length === 0) return
    const first = damaged[0]
    const example = first === undefined ? '' : `${readKeyKind(first.entry[0]) ?? 'unknown'}: ${first.reason}`
    try {
      await this.#quarantine(damaged)
      const text = `${formatRecordCount(damaged.length)} damaged (${example}) and quarantined in ${quarantine.name}: they are not used any more.`
      onAlarm({ alarm: 'records-damaged', text })
    } catch (error) {
      // The records remain, unused, and are found again by the next read.
      const text = `${formatRecordCount(damaged.length)} damaged (${example}) and not used. Setting aside in ${quarantine.name} failed: ${String(error)}.`
      onAlarm({ alarm: 'records-damaged', text })
    }
  }

  async #quarantine(damaged: readonly DamagedEntry[]): Promise<void> {
    const { database, quarantine } = this.#options
    await quarantine.add(damaged)
    const operations = new OperationList()
    const present = await database.getMany(damaged.map(({ entry }) => entry[0]))
    for (const [index, { entry }] of damaged.entries()) {
      // Another record may have replaced it since.
      if (present[index]?.equals(entry[1]) === true) operations.delete(entry[0])
    }
    await database.write(operations, false)
  }
}

function formatRecordCount(count: number): string {
  return count === 1 ? '1 stored record is' : `${count} stored records are`
}
