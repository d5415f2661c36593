// The statements that write a shard. Each checks that this home may still write it: epoch and life are those of the home, attempt is
// that of its connection, and the batch is the next one. A statement that arrives later than its successor has no effect.

import type { BatchPart, EncodedBatch } from './encoded-batch.ts'
import { getPartitionName } from './schema-statements.ts'
import type { ResultValue, Statement } from './server-connection.ts'

/** The home of a shard: what its statements compare. */
export interface ShardHome {
  readonly shard: number
  readonly epoch: number
  readonly life: string
}

/** What the database has of a shard. */
export interface ShardRow {
  readonly epoch: number
  /** Undefined: no home. */
  readonly life: string | undefined
  readonly sequence: number
  readonly attempt: number
}

interface Numbered {
  readonly attempt: number
  readonly sequence: number
}

const fence = `UPDATE shards SET sequence = $1 WHERE shard = $2 AND epoch = $3 AND life = $4 AND attempt = $5
  AND sequence = $1::bigint - 1 RETURNING shard`

const standbyNames = `current_setting('synchronous_standby_names')`

/** The statements of one shard. The partition is named, so that the server does not choose it for each row. */
export class CommitStatements {
  readonly #home: ShardHome
  readonly #texts = new Map<string, string>()

  constructor(home: ShardHome) {
    this.#home = home
  }

  /** The statement of a batch with one part. Its only row is whether it took effect, and the standbys of the server. */
  writeBatch(part: BatchPart, numbered: Numbered): Statement {
    const name = `commit${formatContent(part)}`
    const values = [...this.#listFenceValues(numbered), ...listArrays(part)]
    return { name, text: this.#getText(name, () => this.#createText(part)), values }
  }

  /** The first statement in the transaction of a batch with several parts. Its row lock is held until the commit. */
  writeFence(numbered: Numbered): Statement {
    const text = `WITH fence AS (${fence}) SELECT count(*), ${standbyNames} FROM fence`
    return { name: 'fence', text, values: this.#listFenceValues(numbered) }
  }

  /** The statements of a part in a transaction, after `writeFence`. */
  writePart(part: BatchPart): readonly Statement[] {
    const statements: Statement[] = []
    if (part.deletedKeys !== undefined) {
      statements.push({ name: 'part-delete', text: this.#createDelete('1'), values: [part.deletedKeys] })
    }
    if (part.keys !== undefined && part.values !== undefined) {
      statements.push({ name: 'part-put', text: this.#createPut('', '1', '2'), values: [part.keys, part.values] })
    }
    return statements
  }

  /** Makes statements of earlier connections of this home ineffective. Its row is the sequence number. */
  raiseAttempt(attempt: number): Statement {
    const { shard, epoch, life } = this.#home
    return {
      text: `UPDATE shards SET attempt = $4 WHERE shard = $1 AND epoch = $2 AND life = $3 AND attempt < $4
        RETURNING epoch, life, sequence, attempt`,
      values: [shard, epoch, life, attempt],
    }
  }

  readRow(): Statement {
    return { text: 'SELECT epoch, life, sequence, attempt FROM shards WHERE shard = $1', values: [this.#home.shard] }
  }

  #listFenceValues({ attempt, sequence }: Numbered): readonly (number | string)[] {
    const { shard, epoch, life } = this.#home
    return [sequence, shard, epoch, life, attempt]
  }

  #getText(name: string, create: () => string): string {
    let text = this.#texts.get(name)
    if (text === undefined) {
      text = create()
      this.#texts.set(name, text)
    }
    return text
  }

  #createText(part: BatchPart): string {
    const parts = [`fence AS (${fence})`]
    let next = 6
    if (part.deletedKeys !== undefined) parts.push(`gone AS (${this.#createDelete(`${next++}`, 'fence, ')})`)
    if (part.keys !== undefined) parts.push(`new AS (${this.#createPut('fence, ', `${next}`, `${next + 1}`)})`)
    return `WITH ${parts.join(',\n')} SELECT count(*), ${standbyNames} FROM fence`
  }

  #createDelete(keys: string, from = ''): string {
    const { shard } = this.#home
    const partition = getPartitionName(shard)
    return `DELETE FROM ${partition} AS r USING ${from}unnest($${keys}::bytea[]) AS k (key)
      WHERE r.shard = ${shard} AND r.key = k.key`
  }

  #createPut(from: string, keys: string, values: string): string {
    const { shard } = this.#home
    return `INSERT INTO ${getPartitionName(shard)} (shard, key, value)
      SELECT ${shard}, p.key, p.value FROM ${from}unnest($${keys}::bytea[], $${values}::bytea[]) AS p (key, value)
      ON CONFLICT (shard, key) DO UPDATE SET value = excluded.value`
  }
}

/** Returns the row of `raiseAttempt` or `readRow`; undefined: there is none. */
export function parseShardRow(row: readonly ResultValue[] | undefined): ShardRow | undefined {
  if (row === undefined) return undefined
  const [epoch, life, sequence, attempt] = row
  return {
    epoch: Number(epoch),
    life: typeof life === 'string' ? life : undefined,
    sequence: Number(sequence),
    attempt: Number(attempt),
  }
}

/** Returns whether the batch is one statement. */
export function isOneStatement({ parts }: EncodedBatch): boolean {
  return parts.length === 1
}

function formatContent({ deletedKeys, keys }: BatchPart): string {
  return `${deletedKeys === undefined ? '' : '-delete'}${keys === undefined ? '' : '-put'}`
}

function listArrays({ deletedKeys, keys, values }: BatchPart): Buffer[] {
  return [deletedKeys, keys, values].filter((array) => array !== undefined)
}
