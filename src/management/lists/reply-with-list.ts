// Combines a list of several shards into one response, slice by slice: between slices, shards and main thread handle
// other work.

import type { ListPosition, ListSlice, RowsWanted, ShardUnavailable } from './list-slice.ts'
import { type ApiError, refuse } from '../http/api-error.ts'
import { JsonText } from '../http/json-text.ts'
import { beginning, formatCursor, type Paging } from './parse-paging.ts'

/** Rows that are collected before the response starts: until then a missing shard can still be reported. */
const rowsBeforeHead = 10_000
const allRows = Number.MAX_SAFE_INTEGER

export interface ListSource<Row> {
  readSlice(range: RowsWanted): Promise<ListSlice<Row> | ShardUnavailable>
  /** Number of all rows, if it is known without visiting them. */
  count?(): Promise<number | ShardUnavailable>
  /** Converts a row for the response. */
  toRecord(row: Row): object
}

export function replyWithList<Row>(source: ListSource<Row>, paging: Paging): Promise<JsonText | ApiError> {
  if (paging.part === 'whole') return replyWithAll(source)
  return paging.part === 'page' ? replyWithPage(source, paging) : replyFromCursor(source, paging)
}

export function toShardUnavailableError({ unavailableShard }: ShardUnavailable): ApiError {
  return refuse('rpcError', `shard ${unavailableShard} is restarting: retry in a few seconds`)
}

async function replyWithAll<Row>(source: ListSource<Row>): Promise<JsonText | ApiError> {
  const written: string[] = []
  let rows = 0
  let at: ListPosition | undefined = beginning
  while (at !== undefined && rows < rowsBeforeHead) {
    const slice: ListSlice<Row> | ShardUnavailable = await source.readSlice({ from: at, skip: 0, maxRows: allRows })
    if ('unavailableShard' in slice) return toShardUnavailableError(slice)
    if (slice.rows.length > 0) written.push(writeRows(source, slice.rows))
    rows += slice.rows.length
    at = slice.next
  }
  const head = `{"code":0,"data":[${written.join(',')}`
  return at === undefined ? new JsonText(`${head}]}`) : new JsonText(head, readRemaining(source, at))
}

async function* readRemaining<Row>(source: ListSource<Row>, from: ListPosition): AsyncGenerator<string> {
  for (let at: ListPosition | undefined = from; at !== undefined;) {
    const slice: ListSlice<Row> | ShardUnavailable = await source.readSlice({ from: at, skip: 0, maxRows: allRows })
    if ('unavailableShard' in slice) throw new Error(toShardUnavailableError(slice).message)
    if (slice.rows.length > 0) yield `,${writeRows(source, slice.rows)}`
    at = slice.next
  }
  yield ']}'
}

async function replyWithPage<Row>(
  source: ListSource<Row>,
  { page, limit }: Paging & { part: 'page' },
): Promise<JsonText | ApiError> {
  const written: string[] = []
  const known = await source.count?.()
  if (typeof known === 'object') return toShardUnavailableError(known)
  let [skip, left, passed] = [(page - 1) * limit, limit, 0]
  let at: ListPosition | undefined = skip >= (known ?? Infinity) ? undefined : beginning
  while (at !== undefined) {
    // If the number of all rows is unknown, the others are visited as well, and counted.
    if (left === 0 && known !== undefined) break
    const slice: ListSlice<Row> | ShardUnavailable = await source.readSlice({ from: at, skip, maxRows: left })
    if ('unavailableShard' in slice) return toShardUnavailableError(slice)
    if (slice.rows.length > 0) written.push(writeRows(source, slice.rows))
    skip -= Math.min(skip, slice.passed)
    left -= slice.rows.length
    passed += slice.passed
    at = slice.next
  }
  const count = known ?? passed
  return writePage(written, { page, limit, count, hasnext: page * limit < count })
}

async function replyFromCursor<Row>(
  source: ListSource<Row>,
  { from, limit }: Paging & { part: 'onward' },
): Promise<JsonText | ApiError> {
  const written: string[] = []
  let left = limit
  let at: ListPosition | undefined = from
  while (at !== undefined && left > 0) {
    const slice: ListSlice<Row> | ShardUnavailable = await source.readSlice({ from: at, skip: 0, maxRows: left })
    if ('unavailableShard' in slice) return toShardUnavailableError(slice)
    if (slice.rows.length > 0) written.push(writeRows(source, slice.rows))
    left -= slice.rows.length
    at = slice.next
  }
  const next = at === undefined ? {} : { cursor: formatCursor(at) }
  return writePage(written, { limit, hasnext: at !== undefined, ...next })
}

function writePage(written: readonly string[], meta: object): JsonText {
  return new JsonText(`{"code":0,"data":[${written.join(',')}],"meta":${JSON.stringify(meta)}}`)
}

/** The rows of one page that are known already. */
export function replyWithRows<Row>(
  rows: readonly Row[],
  {
    toRecord,
    page,
    limit,
    count,
  }: Pick<ListSource<Row>, 'toRecord'> & { readonly page: number; readonly limit: number; readonly count: number },
): JsonText {
  const written = rows.map((row) => JSON.stringify(toRecord(row)))
  return writePage(written, { page, limit, count, hasnext: page * limit < count })
}

/** Without the enclosing brackets. */
function writeRows<Row>(source: ListSource<Row>, rows: readonly Row[]): string {
  return rows.map((row) => JSON.stringify(source.toRecord(row))).join(',')
}
