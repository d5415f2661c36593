// All rows of a list, for an export: page after page.

import type { Result } from './api.ts'

/** Rows of an export at most: the page has them all in memory. */
const maxRows = 200_000
/** Rows of one request: the maximum of the API. */
const pageRows = 10_000

export interface AllRows<Row> {
  readonly data: readonly Row[]
  /** There are more rows than these. */
  readonly isCut?: boolean
}

interface ListReply<Row> {
  readonly data: readonly Row[]
  readonly meta?: { readonly hasnext: boolean; readonly cursor?: string | undefined } | undefined
}

export type AllPages<Row> = (page: { readonly page: number; readonly limit: number }) => Promise<Result<ListReply<Row>>>
export type AllCursors<Row> = (page: {
  readonly cursor: string
  readonly limit: number
}) => Promise<Result<ListReply<Row>>>

/** Reads the pages of a list that has them by number. */
export async function loadAllPages<Row>(load: AllPages<Row>): Promise<Result<AllRows<Row>>> {
  const data: Row[] = []
  for (let page = 1; ; page++) {
    const result = await load({ page, limit: pageRows })
    if ('failure' in result) return result
    data.push(...result.reply.data)
    if (result.reply.meta?.hasnext !== true) return { reply: { data } }
    if (data.length >= maxRows) return { reply: { data, isCut: true } }
  }
}

/** Reads the pages of a list that goes on by cursor. */
export async function loadAllFromCursor<Row>(load: AllCursors<Row>): Promise<Result<AllRows<Row>>> {
  const data: Row[] = []
  for (let cursor: string | undefined = 'first'; cursor !== undefined;) {
    const result: Result<ListReply<Row>> = await load({ cursor, limit: pageRows })
    if ('failure' in result) return result
    data.push(...result.reply.data)
    cursor = result.reply.meta?.cursor
    if (cursor !== undefined && data.length >= maxRows) return { reply: { data, isCut: true } }
  }
  return { reply: { data } }
}
