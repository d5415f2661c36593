// Single records that cannot be trusted: a wrong checksum, bytes that make no sense. They are copied to a file beside
// the database for whoever wants to look, taken out of the database, and told by one alarm for all that come together.

import { appendFile, stat } from 'node:fs/promises'
import { DamagedRecord, RecordTooNew } from '../byte-reader.ts'
import type { LevelDatabase, LevelEntry } from '../level-database.ts'
import { OperationList } from '../operation-list.ts'
import { kindOfKey } from '../record-keys.ts'
import type { StorageAlarm } from '../store.ts'

/** Beyond so many bytes the file takes no more: the disk is worth more than the evidence. */
const maxFileBytes = 64 * 1_024 * 1_024
/** So many wait at most to be set aside; further ones stay where they are and are found again. */
const maxWaitingRecords = 10_000

export interface BadRecordsOptions {
  readonly database: LevelDatabase
  /** Where they are set aside, a line each: JSON with the reason, and key and value in base64. */
  readonly file: string
  readonly onAlarm: (alarm: StorageAlarm) => void
  /** Runs what must not happen during a commit. */
  readonly runExclusively: (act: () => Promise<void>) => Promise<void>
  /** Something on the disk itself cannot be read: the database is to be repaired at the next start. */
  readonly onUnreadable: (error: Error) => void
}

/** Collects what reading finds to be bad, and sets it aside. */
export class BadRecords {
  readonly #options: BadRecordsOptions
  readonly #damaged: { readonly entry: LevelEntry; readonly reason: string }[] = []
  #tooNew: string[] = []
  #quarantining: Promise<void> = Promise.resolve()
  #isDue = false
  #isStopped = false

  constructor(options: BadRecordsOptions) {
    this.#options = options
  }

  /** What `read` makes of an entry; undefined if the entry is bad. */
  tryRead<Thing>(entry: LevelEntry, read: (entry: LevelEntry) => Thing): Thing | undefined {
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

  /** Resolves when all that was found is set aside. Not to be awaited in a turn. */
  async finish(): Promise<void> {
    await this.#quarantining
  }

  /** What is not set aside yet stays where it is, unused, and is found again. */
  stop(): void {
    this.#isStopped = true
  }

  /** In its own turn, so that what the same slice finds comes along. */
  #scheduleFlush(): void {
    if (this.#isDue) return
    this.#isDue = true
    this.#quarantining = this.#options.runExclusively(async () => {
      this.#isDue = false
      if (!this.#isStopped) await this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const { file, onAlarm } = this.#options
    const tooNew = this.#tooNew
    const damaged = this.#damaged.splice(0)
    this.#tooNew = []
    if (tooNew.length > 0) {
      const text = `${countOf(tooNew.length)} left alone and not used: ${tooNew[0]}. Use the newer Godwit again.`
      onAlarm({ alarm: 'records-too-new', text })
    }
    if (damaged.length === 0) return
    const first = damaged[0]
    const example = first === undefined ? '' : `${kindOfKey(first.entry[0]) ?? 'unknown'}: ${first.reason}`
    try {
      await this.#quarantine(damaged)
      const text = `${countOf(damaged.length)} damaged (${example}) and set aside in ${file}: not used any more.`
      onAlarm({ alarm: 'records-damaged', text })
    } catch (error) {
      // They stay where they are, unused, and are found again by the next reading.
      const text = `${countOf(damaged.length)} damaged (${example}) and not used. Setting aside in ${file} failed: ${String(error)}.`
      onAlarm({ alarm: 'records-damaged', text })
    }
  }

  async #quarantine(damaged: readonly { readonly entry: LevelEntry; readonly reason: string }[]): Promise<void> {
    const { database, file } = this.#options
    if ((await sizeOf(file)) < maxFileBytes) {
      const lines = damaged.map(({ entry: [key, value], reason }) =>
        JSON.stringify({ reason, key: key.toString('base64'), value: value.toString('base64') }),
      )
      await appendFile(file, `${lines.join('\n')}\n`, { mode: 0o600, flush: true })
    }
    const operations = new OperationList()
    const present = await database.getMany(damaged.map(({ entry }) => entry[0]))
    for (const [index, { entry }] of damaged.entries()) {
      // Another record may have taken its place since.
      if (present[index]?.equals(entry[1]) === true) operations.delete(entry[0])
    }
    await database.write(operations, false)
  }
}

function countOf(count: number): string {
  return count === 1 ? '1 stored record is' : `${count} stored records are`
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size
  } catch {
    return 0 // There is none yet.
  }
}
