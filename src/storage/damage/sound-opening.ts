// Opens a database so that what is wrong with it is noticed, and mended, before anything relies on it.

import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BatchJournal, type Gap } from '../batch-journal.ts'
import { isDamage, LevelDatabase } from '../level-database.ts'
import { OperationList } from '../operation-list.ts'
import type { StorageAlarm } from '../store.ts'
import { databaseFiles, droppedFromLog, freeDamagedPath, isLog, isTable, linkFiles } from './database-files.ts'
import { finishInterruptedSalvage, salvage } from './salvage.ts'
import { breakSeal, brokenPromise, readSeal, type Seal } from './seal.ts'
import { checkTable } from './table-check.ts'

export interface SoundOpeningOptions {
  readonly directory: string
  readonly shard: number
  /** What has been found wrong already: then there is nothing to try. */
  readonly suspicion: string | undefined
  readonly onAlarm: (alarm: StorageAlarm) => void
}

/** A database that is open, and the journal of its batches. */
export interface OpenedDatabase {
  readonly database: LevelDatabase
  readonly journal: BatchJournal
}

type Opened = OpenedDatabase & { readonly gaps: readonly Gap[] }

/** Tables are checked block by block at every opening up to so many bytes of them in all: a quarter of a second. */
const alwaysCheckedBytes = 64 * 1_024 * 1_024
/** Whatever their size they are checked when the database was left in disorder so many times in a row. */
const disorderlyOpenings = 3

/** A damaged database: what is wrong with it, and where its files are. */
interface Damage {
  readonly reason: string
  readonly source: string
}

/** Opens or makes a database that nobody has open. Rejects if it cannot be opened for a reason other than damage. */
export async function openSoundly(options: SoundOpeningOptions): Promise<OpenedDatabase> {
  const { directory } = options
  await finishInterruptedSalvage(directory)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const seal = await readSeal(directory)
  const reason = options.suspicion ?? (await suspicionOf(directory, seal))
  const outcome = reason === undefined ? await tryOpening(options, seal) : { reason, source: directory }
  const opened = 'reason' in outcome ? await openDamaged(options, outcome) : outcome
  await tellGaps(opened, options)
  await breakSeal(directory, openingsOf(seal))
  return opened
}

/** What is wrong before anything is opened. */
async function suspicionOf(directory: string, seal: Seal): Promise<string | undefined> {
  const files = await databaseFiles(directory)
  if (files.size === 0) return undefined
  // Without this file LevelDB would begin anew and delete all others.
  if (!files.has('CURRENT')) return 'CURRENT is missing'
  const broken = brokenPromise(seal, files)
  if (broken !== undefined) return broken
  // From its first opening on a database that was not closed in order has a log.
  if (seal.state === 'open' && seal.openings > 0 && ![...files.keys()].some(isLog)) return 'its log is missing'
  const tables = [...files].filter(([name]) => isTable(name))
  const tableBytes = tables.reduce((sum, [, bytes]) => sum + bytes, 0)
  if (tableBytes > alwaysCheckedBytes && openingsOf(seal) < disorderlyOpenings) return undefined
  for (const [name] of tables) {
    const verdict = await checkTable(join(directory, name))
    if (verdict.state !== 'sound') return `${name} fails its checksums`
  }
  return undefined
}

/** How often the database was opened since its last orderly close, this time included. */
function openingsOf(seal: Seal): number {
  return seal.state === 'open' ? seal.openings + 1 : 1
}

/** Opens, with a second link to every file that the opening might do away with, until it is clear that all is well. */
async function tryOpening(options: SoundOpeningOptions, seal: Seal): Promise<Opened | Damage> {
  const { directory, shard } = options
  const safety = `${directory}.opening`
  await rm(safety, { recursive: true, force: true })
  const files = await databaseFiles(directory)
  await linkFiles(
    [...files.keys()].filter((name) => seal.state === 'open' || !isTable(name)),
    directory,
    safety,
  )
  try {
    const opened = await openAndRead(directory, shard)
    const damage = wrongTable(opened, files, directory) ?? (await staleList(opened, directory, seal))
    if (damage === undefined) {
      await keepDroppedLogs(options, safety)
      return opened
    }
    await opened.database.close()
    return damage
  } catch (error) {
    if (!isDamage(error)) throw error
    return { reason: error.message, source: directory }
  }
}

/** LevelDB does not look whether the tables have the size that they should have. `files` are those from before the opening. */
function wrongTable({ database }: Opened, files: ReadonlyMap<string, number>, source: string): Damage | undefined {
  for (const [number, bytes] of database.tables()) {
    const name = `${String(number).padStart(6, '0')}.ldb`
    const found = files.get(name)
    if (found !== undefined && found !== bytes)
      return { reason: `${name} has ${found} bytes instead of ${bytes}`, source }
  }
  return undefined
}

/**
 * If batches are missing though all logs were read, the list of tables is an old one, and tables that it does not name are deleted
 * by now. The safety links still have them.
 */
async function staleList({ gaps }: Opened, directory: string, seal: Seal): Promise<Damage | undefined> {
  if (gaps.length === 0 || seal.state === 'closed' || (await droppedFromLog(directory)).length > 0) return undefined
  return { reason: `batches are missing (${gapsText(gaps)})`, source: `${directory}.opening` }
}

async function keepDroppedLogs({ directory, onAlarm }: SoundOpeningOptions, safety: string): Promise<void> {
  const dropped = await droppedFromLog(directory)
  if (dropped.length === 0) return await rm(safety, { recursive: true, force: true })
  const setAside = await freeDamagedPath(directory)
  await rename(safety, setAside)
  const text = `The log of the database in ${directory} was damaged: ${dropped.join(', ')} could not be read. Its files are in ${setAside}.`
  onAlarm({ alarm: 'database-damaged', text })
}

async function openDamaged(options: SoundOpeningOptions, damage: Damage): Promise<Opened> {
  const { directory, shard, onAlarm } = options
  try {
    await salvage({ directory, ...damage, onAlarm })
    await rm(`${directory}.opening`, { recursive: true, force: true })
    return await openAndRead(directory, shard)
  } catch (error) {
    if (!isDamage(error)) throw error
    const setAside = await freeDamagedPath(directory)
    await rename(directory, setAside)
    const text = `The database in ${directory} is beyond repair: ${damage.reason}; ${error.message}. It begins empty. The old files are in ${setAside}.`
    onAlarm({ alarm: 'database-damaged', text })
    await mkdir(directory, { recursive: true, mode: 0o700 })
    return await openAndRead(directory, shard)
  }
}

async function openAndRead(directory: string, shard: number): Promise<Opened> {
  const database = await LevelDatabase.open(directory)
  try {
    return { database, ...(await BatchJournal.read(database, shard)) }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Tells which batches are missing, once. */
async function tellGaps({ database, journal, gaps }: Opened, options: SoundOpeningOptions): Promise<void> {
  if (gaps.length === 0) return
  const text = `Of the batches written to ${options.directory} some are missing (${gapsText(gaps)} of ${journal.last}): what they changed is lost.`
  options.onAlarm({ alarm: 'batches-missing', text })
  const operations = new OperationList()
  journal.encodeTold(operations, gaps)
  await database.write(operations, true)
}

function gapsText(gaps: readonly Gap[]): string {
  return gaps.map(({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`)).join(', ')
}
