// Pages of long lists.

import { type TSchema, Type } from './schema.ts'

/** Maximum rows of one page. */
export const maxRowsPerPage = 10_000

const page = Type.Integer({ minimum: 1, description: 'Number of the page, from 1.' })
const limit = Type.Integer({ minimum: 1, maximum: maxRowsPerPage, description: 'Maximum number of rows in a page.' })
const cursor = Type.String({ description: 'Position of the page: `first`, then `cursor` of the previous response.' })

/** Query keys of a list, in both spellings. Without them the complete list is returned. */
export const pageQuery = {
  _page: Type.Optional(page),
  _limit: Type.Optional(limit),
  page: Type.Optional(page),
  limit: Type.Optional(limit),
}

/** The same for a list that also has cursors. */
export const pagingQuery = { ...pageQuery, _cursor: Type.Optional(cursor), cursor: Type.Optional(cursor) }

/** Added to `data` if a page was requested: by number, or by cursor. */
const pagingMeta = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1 })),
  limit: Type.Integer({ minimum: 1 }),
  count: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Number of rows in all pages. Absent if the request has a cursor.' }),
  ),
  hasnext: Type.Boolean({ description: 'true: there is a next page. With a cursor, the next page may be empty.' }),
  cursor: Type.Optional(Type.String({ description: 'Position of the next page.' })),
})

/** `{code: 0, data}`, and `meta` if a page was requested. */
export function listOf<Item extends TSchema>(item: Item) {
  return Type.Object({ code: Type.Literal(0), data: Type.Array(item), meta: Type.Optional(pagingMeta) })
}

/** Common parts of the endpoints of one list. The path contains some conditions, and `query` the others. */
export function listing<Query extends TSchema, Item extends TSchema>(query: Query, item: Item) {
  return {
    method: 'GET',
    query,
    unknownQuery: 'refuse',
    reply: listOf(item),
    failures: ['rpcError', 'invalidParameter'],
    access: 'read',
    isForNamespaces: true,
  } as const
}

const numberedMeta = Type.Object({
  page: Type.Integer({ minimum: 1 }),
  limit: Type.Integer({ minimum: 1, description: 'Maximum number of rows in a page.' }),
  count: Type.Integer({ minimum: 0, description: 'Number of rows in all pages that match the query.' }),
  hasnext: Type.Boolean({ description: 'true: there is a next page.' }),
})

/** `{code: 0, data, meta}` of a list that always has pages; default page size `maxRowsPerPage`. */
export function pageOf<Item extends TSchema>(item: Item) {
  return Type.Object({ code: Type.Literal(0), data: Type.Array(item), meta: numberedMeta })
}
