// Opens a database, detects damage, and repairs it before the store uses the database.

import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BatchSequence, type Gap } from '../database/batch-sequence.ts'
import { readMarks } from '../database/batch-marks.ts'
import { isDamage, LevelDatabase } from '../database/level-database.ts'
import { OperationList } from '../database/operation-list.ts'
import type { StorageAlarm } from '../store.ts'
import {
  listDatabaseFiles,
  readDropsFromLog,
  findUnusedDamagedPath,
  isLog,
  isTable,
  linkFiles,
  parseFileNumber,
} from '../database/database-files.ts'
import { recoverLostSessions } from './lost-sessions.ts'
import { finishInterruptedRepair, repairDatabase } from './repair.ts'
import { type NeededFiles, readNeededFiles } from './manifest.ts'
import {
  markOpen,
  findMarkerMismatch,
  maxUncleanOpenings,
  readCloseMarker,
  type CloseMarker,
} from './clean-close-marker.ts'
import { checkTable, hasIndex } from './table-check.ts'

export interface OpenWithRepairOptions {
  readonly directory: string
  /** Damage that is known already, so that opening is not tried first. */
  readonly suspectedDamage: string | undefined
  /**
   * Session expiry of recreated sessions. Undefined: the database was open before, so shards may have the missing state
   * in memory, and no session is recreated.
   */
  readonly recoveredExpirySeconds: number | undefined
  readonly onAlarm: (alarm: StorageAlarm) => void
}

/** An open database, and the batch sequences of its shards. */
export interface OpenedDatabase {
  readonly database: LevelDatabase
  readonly batchSequences: ReadonlyMap<number, BatchSequence>
}

type Opened = OpenedDatabase & { readonly missing: readonly MissingBatches[] }

interface MissingBatches {
  readonly batchSequence: BatchSequence
  readonly gaps: readonly Gap[]
}

/**
 * If all tables together are at most this large, they are checked block by block at every opening: a quarter of a
 * second.
 */
const maxAlwaysCheckedBytes = 64 * 1_024 * 1_024

/** The damage of a database. */
interface Damage {
  readonly reason: string
}

/** Opens or creates a database that is not open. Rejects if it cannot be opened for a reason other than damage. */
export async function openWithRepair(options: OpenWithRepairOptions): Promise<OpenedDatabase> {
  const { directory } = options
  await finishInterruptedRepair(directory)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const marker = await readCloseMarker(directory)
  const reason = options.suspectedDamage ?? (await findSuspectedDamage(directory, marker))
  const outcome = reason === undefined ? await tryOpening(options) : { reason }
  const opened = 'reason' in outcome ? await openDamaged(options, outcome) : outcome
  await reportGaps(opened, options)
  await markOpen(directory, countOpenings(marker))
  return opened
}

/** Returns damage that is visible before opening. */
async function findSuspectedDamage(directory: string, marker: CloseMarker): Promise<string | undefined> {
  const files = await listDatabaseFiles(directory)
  if (files.size === 0) return undefined
  // Without this file LevelDB would create a new database and delete all other files.
  if (!files.has('CURRENT')) return 'CURRENT is missing'
  const mismatch = findMarkerMismatch(marker, files)
  if (mismatch !== undefined) return mismatch
  const needed = await readNeededFiles(directory)
  const difference = findDifference(files, needed)
  if (difference !== undefined) return difference
  // A table that is not in the list was being written when the process was killed: LevelDB deletes it.
  const tables = [...files].filter(([name]) => isTable(name) && needed?.tables.has(parseFileNumber(name)) !== false)
  const tableBytes = tables.reduce((sum, [, bytes]) => sum + bytes, 0)
  const isQuick = tableBytes > maxAlwaysCheckedBytes && countOpenings(marker) < maxUncleanOpenings
  for (const [name] of tables) {
    const path = join(directory, name)
    // LevelDB would read nothing from a table without its index, and report nothing.
    if (isQuick && !(await hasIndex(path))) return `the index of ${name} fails its checksum`
    if (!isQuick && (await checkTable(path)).state !== 'valid') return `${name} fails its checksums`
  }
  return undefined
}

/** Returns a difference from LevelDB's list of files. */
function findDifference(files: ReadonlyMap<string, number>, needed: NeededFiles | undefined): string | undefined {
  if (needed === undefined) return undefined // LevelDB reports a damaged list.
  // If the log in the list does not exist, the list is old or the log is lost.
  const log = `${formatFileNumber(needed.log)}.log`
  if (needed.log > 0 && !files.has(log)) return `${log} is missing`
  for (const [number, bytes] of needed.tables) {
    const name = `${formatFileNumber(number)}.ldb`
    const found = files.get(name) ?? files.get(`${formatFileNumber(number)}.sst`)
    if (found === undefined) return `${name} is missing`
    if (found !== bytes) return `${name} has ${found} bytes instead of ${bytes}`
  }
  return undefined
}

function formatFileNumber(number: number): string {
  return String(number).padStart(6, '0')
}

/** Returns the number of openings since the last clean close, including this one. */
function countOpenings(marker: CloseMarker): number {
  return marker.state === 'open' ? marker.openings + 1 : 1
}

/**
 * Opens the database. The logs have a second link until it is known that LevelDB could read them, because it deletes
 * them.
 */
async function tryOpening(options: OpenWithRepairOptions): Promise<Opened | Damage> {
  const { directory } = options
  const logCopies = `${directory}.opening`
  await rm(logCopies, { recursive: true, force: true })
  const files = await listDatabaseFiles(directory)
  await linkFiles([...files.keys()].filter(isLog), directory, logCopies)
  try {
    const opened = await openAndRead(options)
    await preserveDroppedLogs(options, logCopies)
    return opened
  } catch (error) {
    if (!isDamage(error)) throw error
    return { reason: error.message }
  }
}

async function preserveDroppedLogs({ directory, onAlarm }: OpenWithRepairOptions, logCopies: string): Promise<void> {
  const dropped = await readDropsFromLog(directory)
  if (dropped.length === 0) return await rm(logCopies, { recursive: true, force: true })
  const damagedPath = await findUnusedDamagedPath(directory)
  await rename(logCopies, damagedPath)
  const text = `The log of the database in ${directory} was damaged: ${dropped.join(', ')} could not be read. Its files are in ${damagedPath}.`
  onAlarm({ alarm: 'database-damaged', text })
}

async function openDamaged(options: OpenWithRepairOptions, damage: Damage): Promise<Opened> {
  const { directory, onAlarm } = options
  try {
    await repairDatabase({ ...options, ...damage })
    await rm(`${directory}.opening`, { recursive: true, force: true })
    return await openAndRead(options)
  } catch (error) {
    if (!isDamage(error)) throw error
    const damagedPath = await findUnusedDamagedPath(directory)
    await rename(directory, damagedPath)
    const text = `The database in ${directory} cannot be repaired: ${damage.reason}; ${error.message}. The broker starts with an empty database. The old files are in ${damagedPath}.`
    onAlarm({ alarm: 'database-damaged', text })
    await mkdir(directory, { recursive: true, mode: 0o700 })
    return await openAndRead(options)
  }
}

async function openAndRead(options: OpenWithRepairOptions): Promise<Opened> {
  const { directory, recoveredExpirySeconds } = options
  const database = await LevelDatabase.open(directory)
  try {
    const batchSequences = new Map<number, BatchSequence>()
    const missing: MissingBatches[] = []
    const marks = await readMarks(directory)
    for (const shard of new Set([...(await BatchSequence.listShards(database)), ...marks.keys()])) {
      const { batchSequence, gaps } = await BatchSequence.read(database, shard, marks.get(shard))
      batchSequences.set(shard, batchSequence)
      if (gaps.length > 0) missing.push({ batchSequence, gaps })
    }
    if (recoveredExpirySeconds !== undefined) {
      await recoverLostSessions(database, { ...options, onUnreadable: fail }, { isThorough: false })
    }
    return { database, batchSequences, missing }
  } catch (error) {
    await database.close()
    throw error
  }
}

function fail(error: Error): never {
  throw error
}

/** Reports missing batches, once. */
async function reportGaps({ database, missing }: Opened, options: OpenWithRepairOptions): Promise<void> {
  if (missing.length === 0) return
  const texts = missing.map(({ batchSequence, gaps }) => {
    return `of the batches of shard ${batchSequence.shard} some are missing (${formatGaps(gaps)} of ${batchSequence.last})`
  })
  const text = `Acknowledged writes to ${options.directory} are lost: ${texts.join('; ')}. Messages and changes in these batches may be lost.`
  options.onAlarm({ alarm: 'batches-missing', text })
  const operations = new OperationList()
  for (const { batchSequence, gaps } of missing) batchSequence.encodeReported(operations, gaps)
  await database.write(operations, true)
}

function formatGaps(gaps: readonly Gap[]): string {
  return gaps.map(({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`)).join(', ')
}
