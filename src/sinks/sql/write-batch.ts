// A batch goes in one transaction. Where the database refuses one of its rows each is written alone, so that one bad row is
// the only one that is refused.

import type { SpoolEntry, WriteOutcome } from '../sink.ts'
import { readStatement, type SqlStatement } from './sql-entry.ts'

/** One connection, taken from the pool for one batch. */
export interface SqlConnection {
  run(statement: SqlStatement): Promise<void>
  begin(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  /** `isBroken`: it is closed and not used again. */
  release(isBroken: boolean): void
}

export interface SqlDatabase {
  connect(): Promise<SqlConnection>
  /** The database takes this row at no time; anything else may be otherwise later. */
  isRefusal(error: unknown): boolean
  textOf(error: unknown): string
}

const done: WriteOutcome = { outcome: 'done' }

export async function writeBatch(
  database: SqlDatabase,
  batch: readonly SpoolEntry[],
): Promise<readonly WriteOutcome[]> {
  const statements = batch.map(readStatement)
  let connection: SqlConnection
  try {
    connection = await database.connect()
  } catch (error) {
    return batch.map(() => ({ outcome: 'retry', why: database.textOf(error) }))
  }
  let isBroken = true
  try {
    const outcomes = await writeTogether(database, connection, statements)
    isBroken = outcomes.some(({ outcome }) => outcome === 'retry')
    return outcomes
  } finally {
    connection.release(isBroken)
  }
}

async function writeTogether(
  database: SqlDatabase,
  connection: SqlConnection,
  statements: readonly SqlStatement[],
): Promise<readonly WriteOutcome[]> {
  if (statements.length === 1) return writeEach(database, connection, statements)
  try {
    await connection.begin()
    for (const statement of statements) await connection.run(statement)
    await connection.commit()
    return statements.map(() => done)
  } catch (error) {
    const why = database.textOf(error)
    if (!database.isRefusal(error)) return statements.map(() => ({ outcome: 'retry', why }))
  }
  try {
    await connection.rollback()
  } catch (error) {
    return statements.map(() => ({ outcome: 'retry', why: database.textOf(error) }))
  }
  return writeEach(database, connection, statements)
}

async function writeEach(
  database: SqlDatabase,
  connection: SqlConnection,
  statements: readonly SqlStatement[],
): Promise<readonly WriteOutcome[]> {
  const outcomes: WriteOutcome[] = []
  for (const statement of statements) {
    try {
      await connection.run(statement)
      outcomes.push(done)
    } catch (error) {
      const why = database.textOf(error)
      if (database.isRefusal(error)) outcomes.push({ outcome: 'refused', why })
      else {
        while (outcomes.length < statements.length) outcomes.push({ outcome: 'retry', why })
        break
      }
    }
  }
  return outcomes
}
