// Statements that read the partition of a shard. Requests of several sessions are one statement.
//
// The server sends a whole result before the next statement, so a slice has a limit of bytes, and larger values are read in pieces.

import { encodeByteArrays } from './binary-arrays.ts'
import { getPartitionName } from './schema-statements.ts'
import type { Statement } from './server-connection.ts'

/** Keys from `low` (inclusive) to `high` (exclusive), at most `limit` of them. */
export interface SliceRequest {
  readonly low: Buffer
  readonly high: Buffer
  readonly limit: number
}

export interface SliceOrder {
  readonly isReverse: boolean
  readonly keysOnly: boolean
}

/** The values of a slice end after this number of bytes, with at least one value. */
const maxSliceBytes = 1_048_576
/** Larger values are returned as null, and read in pieces: the library builds a text of twice the size. */
const maxInlineBytes = 1_048_576
const pieceBytes = 8_388_608

export class RangeStatements {
  readonly #shard: number
  readonly #partition: string

  constructor(shard: number) {
    this.#shard = shard
    this.#partition = getPartitionName(shard)
  }

  /**
   * Rows of several requests in the order of the requests and keys: position of the request from 1, key, value or null, bytes of the value,
   * and the number of rows of the request without the limit of bytes.
   */
  readSlices(requests: readonly SliceRequest[], { isReverse, keysOnly }: SliceOrder): Statement {
    const order = isReverse ? 'DESC' : 'ASC'
    const bytes = keysOnly ? '0' : 'octet_length(r.value)'
    const value = keysOnly ? `''::bytea` : 'r.value'
    return {
      name: `slices-${order}${keysOnly ? '-keys' : ''}`,
      text: `SELECT q.position, s.key, CASE WHEN s.bytes <= ${maxInlineBytes} THEN s.value END, s.bytes, s.total
        FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) WITH ORDINALITY AS q (low, high, max_rows, position)
        CROSS JOIN LATERAL (
          SELECT f.key, f.value, f.bytes, count(*) OVER () AS total,
            sum(f.bytes) OVER (ORDER BY f.key ${order} ROWS UNBOUNDED PRECEDING) - f.bytes AS bytes_before
          FROM (
            SELECT r.key, ${value} AS value, ${bytes} AS bytes FROM ${this.#partition} AS r
            WHERE r.shard = ${this.#shard} AND r.key >= q.low AND r.key < q.high
            ORDER BY r.key ${order} LIMIT q.max_rows
          ) AS f
        ) AS s
        WHERE s.bytes_before < ${maxSliceBytes}
        ORDER BY q.position, s.key ${order}`,
      values: [
        encodeByteArrays(requests.map(({ low }) => low)),
        encodeByteArrays(requests.map(({ high }) => high)),
        `{${requests.map(({ limit }) => limit).join(',')}}`,
      ],
    }
  }

  /** Rows of existing keys, in any order: key, value or null, bytes of the value. */
  readKeys(keys: readonly Buffer[]): Statement {
    return {
      name: 'keys',
      text: `SELECT r.key, CASE WHEN octet_length(r.value) <= ${maxInlineBytes} THEN r.value END, octet_length(r.value)
        FROM ${this.#partition} AS r WHERE r.shard = ${this.#shard} AND r.key = ANY ($1::bytea[])`,
      values: [encodeByteArrays(keys)],
    }
  }

  /** One row: a piece of a value. `from`: from 0 on. */
  readPiece(key: Buffer, from: number): Statement {
    return {
      name: 'piece',
      text: `SELECT substring(r.value FROM $2::integer FOR ${pieceBytes})
        FROM ${this.#partition} AS r WHERE r.shard = ${this.#shard} AND r.key = $1`,
      values: [key, from + 1],
    }
  }
}
