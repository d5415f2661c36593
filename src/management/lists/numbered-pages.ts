// Numbered pages of a list.

import { maxRowsPerPage } from '../../contract/index.ts'

/** A page; numbers start at 1. */
export interface PageWanted {
  readonly page: number
  readonly limit: number
}

export interface PageFound<Item> {
  readonly items: readonly Item[]
  /** Over all pages. */
  readonly count: number
}

/** The checked keys of `pageQuery`. */
export interface PagingQuery {
  readonly _page?: number
  readonly _limit?: number
  readonly page?: number
  readonly limit?: number
}

export function parsePageWanted({ _page, _limit, page, limit }: PagingQuery): PageWanted {
  return { page: _page ?? page ?? 1, limit: _limit ?? limit ?? maxRowsPerPage }
}

/** Fields of `pageOf` in addition to the items. */
export interface PageMeta {
  page: number
  limit: number
  count: number
  hasnext: boolean
}

export function toPageMeta({ page, limit }: PageWanted, { count }: PageFound<unknown>): PageMeta {
  return { page, limit, count, hasnext: page * limit < count }
}
