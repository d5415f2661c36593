// The requested part of a list.

import { maxRowsPerPage } from '../../contract/index.ts'
import type { ListPosition } from './list-slice.ts'
import { ApiError, refuse } from '../http/api-error.ts'

export type Paging =
  | { readonly part: 'whole' }
  | { readonly part: 'page'; readonly page: number; readonly limit: number }
  | { readonly part: 'onward'; readonly from: ListPosition; readonly limit: number }

export interface PagingQuery {
  readonly _page?: number
  readonly _limit?: number
  readonly _cursor?: string
  readonly page?: number
  readonly limit?: number
  readonly cursor?: string
}

export const beginning: ListPosition = { shard: 0, place: 0, offset: 0 }
const cursorPattern = /^(\d{1,6})\.(\d{1,10})\.(\d{1,10})$/

export function parsePaging(query: PagingQuery): Paging | ApiError {
  const { page: plainPage, limit: plainLimit, cursor: plainCursor } = query
  const { _page: page = plainPage, _limit: limit = plainLimit, _cursor: cursor = plainCursor } = query
  if (cursor === undefined) {
    if (page === undefined && limit === undefined) return { part: 'whole' }
    return { part: 'page', page: page ?? 1, limit: limit ?? maxRowsPerPage }
  }
  if (page !== undefined) return refuse('invalidParameter', 'request a page by its number or by _cursor, not by both')
  const from = parseCursor(cursor)
  if (from instanceof ApiError) return from
  return { part: 'onward', from, limit: limit ?? maxRowsPerPage }
}

/** Returns the position of a cursor, from which the list continues. */
export function parseCursor(cursor: string): ListPosition | ApiError {
  if (cursor === 'first') return beginning
  const found = cursorPattern.exec(cursor)
  if (found === null) return refuse('invalidParameter', '_cursor must be `first` or the cursor of the last response')
  const [shard, place, offset] = found.slice(1).map(Number)
  return { shard, place, offset }
}

export function formatCursor({ shard, place, offset }: ListPosition): string {
  return `${shard}.${place}.${offset}`
}
