// Lists of the API that come in pages, read to their end.

import { maxRowsPerPage, type Result } from '../../contract/index.ts'

interface Page<Row> {
  readonly data: readonly Row[]
  readonly meta: { readonly hasnext: boolean }
}

interface PageWanted {
  readonly page: number
  readonly limit: number
}

/** All rows. Pages are numbered: what comes or goes meanwhile may be missing, or be there twice. */
export async function allPages<Row>(
  ask: (query: PageWanted) => Promise<Result<Page<Row>>>,
): Promise<Result<{ readonly data: readonly Row[] }>> {
  const data: Row[] = []
  for (let page = 1; ; page++) {
    const result = await ask({ page, limit: maxRowsPerPage })
    if ('failure' in result) return result
    data.push(...result.reply.data)
    if (!result.reply.meta.hasnext) return { reply: { data } }
  }
}
