// Reads all pages of a list of the API.

import { maxRowsPerPage, type Result } from '../../contract/index.ts'

interface Page<Row> {
  readonly data: readonly Row[]
  readonly meta: { readonly hasnext: boolean }
}

interface PageWanted {
  readonly page: number
  readonly limit: number
}

/** Returns all rows. Rows that are added or deleted meanwhile may be missing or occur twice, because pages are numbered. */
export async function readAllPages<Row>(
  getPage: (query: PageWanted) => Promise<Result<Page<Row>>>,
): Promise<Result<{ readonly data: readonly Row[] }>> {
  const data: Row[] = []
  for (let page = 1; ; page++) {
    const result = await getPage({ page, limit: maxRowsPerPage })
    if ('failure' in result) return result
    data.push(...result.reply.data)
    if (!result.reply.meta.hasnext) return { reply: { data } }
  }
}
