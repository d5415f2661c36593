// Pages of a list: by number, or by cursor, where only the way back is remembered.

import type { JSX } from 'preact'
import { t } from '../state/messages.ts'
import { changeQuery, route } from '../state/router.ts'

const sizes = ['25', '50', '100'] as const

export function readRowsPerPage(): number {
  return Number(sizes.find((size) => size === route.value.query['rows']) ?? '25')
}

/** From 1. */
export function readPageNumber(): number {
  const page = Number(route.value.query['page'])
  return Number.isInteger(page) && page > 0 ? page : 1
}

interface PagerProps {
  readonly hasPrevious: boolean
  readonly hasNext: boolean
  readonly onFirst: () => void
  readonly onPrevious: () => void
  readonly onNext: () => void
  /** Rows of all pages; undefined: not known. */
  readonly count?: number | undefined
}

export function Pager({ hasPrevious, hasNext, onFirst, onPrevious, onNext, count }: PagerProps): JSX.Element {
  return (
    <nav class="pager" aria-label={t('pages')}>
      <button type="button" disabled={!hasPrevious} onClick={onFirst}>
        {t('firstPage')}
      </button>
      <button type="button" disabled={!hasPrevious} onClick={onPrevious}>
        {t('previousPage')}
      </button>
      <button type="button" disabled={!hasNext} onClick={onNext}>
        {t('nextPage')}
      </button>
      {count !== undefined && <span>{t('rowCount', { count })}</span>}
      <label>
        {t('rowsPerPage')}{' '}
        <select
          value={String(readRowsPerPage())}
          onChange={(event) => changeQuery({ rows: event.currentTarget.value, page: undefined, cursor: undefined })}
        >
          {sizes.map((size) => (
            <option key={size} value={size}>
              {size}
            </option>
          ))}
        </select>
      </label>
    </nav>
  )
}

interface NumberedProps {
  readonly meta: { readonly hasnext: boolean; readonly count?: number | undefined } | undefined
}

function goToPage(page: number): void {
  changeQuery({ page: page === 1 ? undefined : String(page) })
}

/** Of a list that has pages by number. */
export function NumberedPager({ meta }: NumberedProps): JSX.Element {
  const page = readPageNumber()
  return (
    <Pager
      hasPrevious={page > 1}
      hasNext={meta?.hasnext === true}
      count={meta?.count}
      onFirst={() => goToPage(1)}
      onPrevious={() => goToPage(page - 1)}
      onNext={() => goToPage(page + 1)}
    />
  )
}

interface CursorProps {
  readonly meta: { readonly hasnext: boolean; readonly cursor?: string | undefined } | undefined
}

/** Returns whether the shown rows are a page of a longer list. */
export function isPartOfList(meta: { readonly hasnext: boolean } | undefined): boolean {
  return meta?.hasnext === true || readPageNumber() > 1 || (route.value.query['cursor'] ?? '') !== ''
}

/** Cursors of the pages before, in the route: separated by a blank, the newest last. */
const separator = ' '

export function readCursor(): string {
  return route.value.query['cursor']?.split(separator).at(-1) ?? 'first'
}

/** Of a list that goes on by cursor. */
export function CursorPager({ meta }: CursorProps): JSX.Element {
  const trail = (route.value.query['cursor'] ?? '').split(separator).filter((cursor) => cursor !== '')
  const goTo = (cursors: readonly string[]): void => changeQuery({ cursor: cursors.join(separator) })
  return (
    <Pager
      hasPrevious={trail.length > 0}
      hasNext={meta?.hasnext === true && meta.cursor !== undefined}
      onFirst={() => goTo([])}
      onPrevious={() => goTo(trail.slice(0, -1))}
      onNext={() => goTo([...trail, meta?.cursor ?? ''])}
    />
  )
}
