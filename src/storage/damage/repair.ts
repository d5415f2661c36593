// Builds a valid database from a damaged one, next to it, and replaces the damaged one when it is complete. The damaged files
// are kept unchanged under a name that ends in `.damaged`.
//
//   1. messages/, tables: valid ones are linked, damaged blocks skipped, lost indexes rebuilt  ---.
//      messages/, logs: LevelDB replays them separately, with checksums                        ---+--> messages.salvaging/
//   2. messages.salvaging/ is repaired and compacted by LevelDB, then renamed to messages.salvaged/: the repair is complete
//   3. messages/ is renamed to messages.1.damaged/, messages.salvaged/ to messages/

import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StorageAlarm } from '../store.ts'
import { LevelDatabase } from '../database/level-database.ts'
import {
  listDatabaseFiles,
  readDropsFromLog,
  findUnusedDamagedPath,
  isLog,
  isMissing,
  isTable,
  linkFiles,
  parseFileNumber,
} from '../database/database-files.ts'
import { checkIntegrity } from './integrity-check.ts'
import { readNeededFiles } from './manifest.ts'
import { invalidateBlocks, checkTableContent, type TableCheckResult } from './table-check.ts'
import { recoverTable } from './table-recovery.ts'

export interface RepairOptions {
  readonly directory: string
  /** Description of the damage, as part of a sentence. */
  readonly reason: string
  /** See `LostSessionOptions`. */
  readonly recoveredExpirySeconds: number | undefined
  readonly onAlarm: (alarm: StorageAlarm) => void
}

/**
 * Replaces the damaged database by a valid one, and reports by an alarm what was lost. The database must not be open.
 */
export async function repairDatabase(options: RepairOptions): Promise<void> {
  const { directory } = options
  const scratch = `${directory}.salvaging`
  await clearDirectory(scratch)
  const losses: string[] = []
  const tables = await recoverTables(directory, scratch, losses)
  const logs = await recoverLogs(directory, scratch, losses)
  const contents = tables + logs === 0 ? undefined : await rebuildDatabase(scratch, options, losses)
  await rename(scratch, toRepairedPath(directory))
  const damagedPath = await replaceDatabase(directory)
  const recovered = contents === undefined || contents === '' ? 'nothing' : contents
  const lost = losses.length === 0 ? '' : ` Lost: ${losses.join(', ')}.`
  const text = `The database in ${directory} was damaged: ${options.reason}. Recovered: ${recovered}.${lost} The damaged files are in ${damagedPath}: delete them when they are no longer needed.`
  options.onAlarm({ alarm: 'database-damaged', text })
}

/** Completes an interrupted repair: after step 2 or within step 3 the repaired database is used, before that it is deleted. */
export async function finishInterruptedRepair(directory: string): Promise<void> {
  await rm(`${directory}.salvaging`, { recursive: true, force: true })
  const isComplete = (await listDatabaseFiles(toRepairedPath(directory))).size > 0
  if (isComplete) await replaceDatabase(directory)
  else await rm(toRepairedPath(directory), { recursive: true, force: true })
}

function toRepairedPath(directory: string): string {
  return `${directory}.salvaged`
}

async function replaceDatabase(directory: string): Promise<string> {
  const damagedPath = await findUnusedDamagedPath(directory)
  try {
    await rename(directory, damagedPath)
  } catch (error) {
    if (!isMissing(error)) throw error // It was moved before the interruption.
  }
  await rename(toRepairedPath(directory), directory)
  return damagedPath
}

/** Links the valid tables and copies the others without their damaged blocks. Returns the number of tables. */
async function recoverTables(source: string, target: string, losses: string[]): Promise<number> {
  let count = 0
  for (const name of await listNeededTables(source)) {
    const result = await checkTableFile(join(source, name))
    if (result.state === 'unusable') {
      if (await recoverInto(target, source, name, losses)) count += 1
      continue
    }
    count += 1
    if (result.state === 'valid') {
      await linkFiles([name], source, target)
    } else {
      losses.push(`${result.badBlocks.length} of ${result.blockCount} blocks of ${name}`)
      const table = await readFile(join(source, name))
      invalidateBlocks(table, result.badBlocks)
      await writeFile(join(target, name), table, { mode: 0o600 })
    }
  }
  return count
}

/**
 * Returns all tables, or only those in LevelDB's list if all of these exist. Tables that are not in the list wait to be deleted, and
 * may hold records that were deleted later.
 */
async function listNeededTables(directory: string): Promise<string[]> {
  const files = await listDatabaseFiles(directory)
  const tables = [...files.keys()].filter(isTable)
  const needed = await readNeededFiles(directory)
  if (needed === undefined) return tables
  const present = new Set([...files.keys()].map(parseFileNumber))
  const isComplete = [needed.log, ...needed.tables.keys()].every((number) => present.has(number))
  return isComplete ? tables.filter((name) => needed.tables.has(parseFileNumber(name))) : tables
}

/** Recovers the readable blocks of a table with a damaged index. Returns false if no block is readable. */
async function recoverInto(target: string, source: string, name: string, losses: string[]): Promise<boolean> {
  const table = await tryReadFile(join(source, name))
  const recovered = table && recoverTable(table)
  if (recovered === undefined) {
    losses.push(name)
    return false
  }
  const { content, blockCount, isWhole } = recovered
  const rest = isWhole ? 'no block is missing' : 'the blocks after them are lost'
  losses.push(`the index of ${name} (${blockCount} blocks were read without it; ${rest})`)
  await writeFile(join(target, name), content, { mode: 0o600 })
  return true
}

/** Returns the bytes of a file; undefined if it cannot be read. */
async function tryReadFile(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined
    throw error
  }
}

/** Returns the result of the check; a table that cannot be read is unusable. */
async function checkTableFile(path: string): Promise<TableCheckResult> {
  const table = await tryReadFile(path)
  return table === undefined ? { state: 'unusable' } : checkTableContent(table)
}

/**
 * Converts each log into tables: LevelDB replays it in a separate database with checksums, which its repair would not
 * verify. Returns the number of tables.
 */
async function recoverLogs(source: string, target: string, losses: string[]): Promise<number> {
  const files = await listDatabaseFiles(source)
  const logs = [...files.keys()].filter(isLog).sort((a, b) => parseFileNumber(a) - parseFileNumber(b))
  let next = Math.max(0, ...[...files.keys()].map(parseFileNumber).filter(Number.isFinite)) + 1
  const first = next
  const logDirectory = `${target}.log`
  for (const log of logs) {
    await clearDirectory(logDirectory)
    await (await LevelDatabase.open(logDirectory)).close()
    await linkFiles([log], source, logDirectory)
    await rename(join(logDirectory, log), join(logDirectory, replayedLog))
    await (await LevelDatabase.open(logDirectory)).close()
    for (const loss of await readDropsFromLog(logDirectory)) losses.push(`${loss} in ${log}`)
    for (const name of [...(await listDatabaseFiles(logDirectory)).keys()].filter(isTable)) {
      await rename(join(logDirectory, name), join(target, `${String(next).padStart(6, '0')}.ldb`))
      next += 1
    }
  }
  await rm(logDirectory, { recursive: true, force: true })
  return next - first
}

/** A number that is higher than any number that a new database uses. */
const replayedLog = '900000.log'

/** Builds a database from the tables in a directory. Returns its contents as text. */
async function rebuildDatabase(scratch: string, options: RepairOptions, losses: string[]): Promise<string> {
  await LevelDatabase.repair(scratch)
  // The files that the repair moved aside are complete in the damaged database.
  await rm(join(scratch, 'lost'), { recursive: true, force: true })
  const database = await LevelDatabase.open(scratch)
  try {
    // The repair puts every table on the level of the newest; only a compaction orders old and new records.
    await database.compact()
    // Parts that are still unreadable are omitted. The damaged files, which are kept, still contain their bytes.
    const report = await checkIntegrity(database, { ...options, onUnreadable: () => {} })
    losses.push(...report.losses)
    return report.contents
  } finally {
    await database.close()
  }
}

async function clearDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true })
  await mkdir(directory, { recursive: true, mode: 0o700 })
}
