// Pages of long lists.

import { type TSchema, Type } from './schema.ts'

/** Maximum rows of one page. */
export const maxRowsPerPage = 10_000

const page = Type.Integer({ minimum: 1, description: 'Which page, from 1.' })
const limit = Type.Integer({ minimum: 1, maximum: maxRowsPerPage, description: 'Rows of a page.' })
const cursor = Type.String({ description: 'Where to go on: `first`, then what the last answer gave.' })

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
  count: Type.Optional(Type.Integer({ minimum: 0, description: 'Rows of all pages. Not known by cursor.' })),
  hasnext: Type.Boolean({ description: 'More follows; by cursor: more may follow.' }),
  cursor: Type.Optional(Type.String({ description: 'Where the next page begins.' })),
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
  limit: Type.Integer({ minimum: 1, description: 'Rows of a page at most.' }),
  count: Type.Integer({ minimum: 0, description: 'Rows of all pages together, of those that were asked for.' }),
  hasnext: Type.Boolean({ description: 'Whether there is another page.' }),
})

/** `{code: 0, data, meta}` of a list that always has pages; default page size `maxRowsOfPage`. */
export function pageOf<Item extends TSchema>(item: Item) {
  return Type.Object({ code: Type.Literal(0), data: Type.Array(item), meta: numberedMeta })
}
