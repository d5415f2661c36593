// Writes a batch in one transaction, with the rows of equal INSERT statements combined. If the database refuses one of the rows,
// each row is written alone, so that only the bad row is refused.

import type { ActionEntry, WriteOutcome } from '../sink.ts'
import type { RowCombiner } from './combine-rows.ts'
import type { SqlStatement, StatementReader } from './sql-entry.ts'

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
  readonly statements: StatementReader
  readonly rows: RowCombiner
  connect(): Promise<SqlConnection>
  /** True: the database will never accept this row; false: it may accept it later. */
  isRefusal(error: unknown): boolean
  /** Two rows of one statement change the same row of the table. In separate statements that is allowed. */
  isConflictOfRows(error: unknown): boolean
  formatError(error: unknown): string
}

const done: WriteOutcome = { outcome: 'done' }

export async function writeBatch(
  database: SqlDatabase,
  batch: readonly ActionEntry[],
): Promise<readonly WriteOutcome[]> {
  const statements = batch.map((entry) => database.statements.read(entry))
  let connection: SqlConnection
  try {
    connection = await database.connect()
  } catch (error) {
    return batch.map(() => ({ outcome: 'retry', why: database.formatError(error) }))
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
  const combined = database.rows.combine(statements)
  const needsTransaction = combined.length > 1
  try {
    if (needsTransaction) await connection.begin()
    for (const statement of combined) await connection.run(statement)
    if (needsTransaction) await connection.commit()
    return statements.map(() => done)
  } catch (error) {
    const why = database.formatError(error)
    const isOfOneRow = database.isRefusal(error) || database.isConflictOfRows(error)
    if (!isOfOneRow) return statements.map(() => ({ outcome: 'retry', why }))
  }
  if (!needsTransaction) return writeEach(database, connection, statements)
  try {
    await connection.rollback()
  } catch (error) {
    return statements.map(() => ({ outcome: 'retry', why: database.formatError(error) }))
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
      const why = database.formatError(error)
      if (database.isRefusal(error)) outcomes.push({ outcome: 'refused', why })
      else {
        while (outcomes.length < statements.length) outcomes.push({ outcome: 'retry', why })
        break
      }
    }
  }
  return outcomes
}
