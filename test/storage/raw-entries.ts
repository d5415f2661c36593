// Reads and writes entries of a database directly, for tests of parts that the store hides.

import { LevelDatabase } from '../../src/storage/database/level-database.ts'
import { OperationList } from '../../src/storage/database/operation-list.ts'

type Range = Parameters<LevelDatabase['readSlices']>[0]
type Entry = readonly [key: Buffer, value: Buffer]

/** The entries of a range of keys of a database that may be open in this process. */
export async function rawEntries(directory: string, range: Range): Promise<Entry[]> {
  const database = await LevelDatabase.open(directory)
  const entries: Entry[] = []
  for await (const slice of database.readSlices(range)) entries.push(...slice)
  await database.close()
  return entries
}

/** Writes bytes under a key of a database that may be open in this process. */
export async function rawPut(directory: string, key: Buffer, value: Buffer): Promise<void> {
  const database = await LevelDatabase.open(directory)
  const operations = new OperationList()
  operations.begin()
  operations.writer.rawBytes(key)
  operations.endKey()
  operations.writer.rawBytes(value)
  operations.endValue()
  await database.write(operations, true)
  await database.close()
}
