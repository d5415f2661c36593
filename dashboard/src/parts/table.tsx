// The one table of the dashboard: caption, columns, buttons of a row, export.

import type { ComponentChildren, JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { type CellValue, saveFile, writeCsv } from '../state/export.ts'
import { type Result, formatFailure } from '../state/api.ts'
import type { Query } from '../state/query.ts'
import { showFailed } from '../state/results.ts'
import type { AllRows } from '../state/all-rows.ts'
import { changeQuery, route } from '../state/router.ts'
import { CopyButton, Name } from './values.tsx'

export interface Column<Row> {
  readonly key: string
  readonly title: string
  /** For sorting and for export. */
  readonly value: (row: Row) => CellValue
  /** In place of the value. */
  readonly render?: (row: Row) => ComponentChildren
  readonly isNumber?: boolean
  /** Name of the order in the query of the API, which sorts the whole list by this column. */
  readonly orderBy?: string
  /** The value has a button `Copy` beside it: identifiers, topics. */
  readonly canCopy?: boolean
}

export interface RowAction<Row> {
  readonly word: string
  readonly run: (row: Row) => void
  /** Not to be done with this row, and why. */
  readonly findDisabledReason?: (row: Row) => string | undefined
  readonly isShown?: (row: Row) => boolean
  readonly isDangerous?: boolean
}

interface TableProps<Row> {
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[] | undefined
  readonly rowKey: (row: Row) => string
  /** Name of the row in the labels of its buttons. */
  readonly rowName?: (row: Row) => string
  readonly actions?: readonly RowAction<Row>[]
  /** Query of the rows: whether it is loading, and whether it is a periodic one. */
  readonly query?: Pick<Query<unknown>, 'isLoading' | 'isPolled'>
  /** A sentence that begins with `No`. */
  readonly empty: string
  /** The rows are a page of a longer list, so only columns with `orderBy` can be sorted. */
  readonly isPart?: boolean
  /** All rows as filtered, for export; absent: those that are shown. */
  readonly loadAll?: () => Promise<Result<AllRows<Row>>>
  readonly fileName?: string
}

/** For rows that have no name: a key of what stands in them, which stays when others come before them. */
export function withKeys<Row extends object>(rows: readonly Row[]): readonly (Row & { readonly rowKey: string })[] {
  const seen = new Map<string, number>()
  return rows
    .toReversed()
    .map((row) => {
      const text = JSON.stringify(row)
      const times = (seen.get(text) ?? 0) + 1
      seen.set(text, times)
      return { ...row, rowKey: `${times} ${text}` }
    })
    .toReversed()
}

/** Rows in the page at most: a list that is longer has pages. */
const maxShownRows = 200

export function DataTable<Row>(props: TableProps<Row>): JSX.Element {
  const { caption, columns, rows = [], actions = [], query, empty } = props
  const body = useRef<HTMLTableSectionElement>(null)
  const [sorting, setSorting] = useState<Sorting>()
  const isPart = props.isPart === true
  const shownSorting = findServerSorting(columns) ?? (isPart ? undefined : sorting)
  // Rows that the server has sorted stay in its order.
  const wanted = sortRows(rows, columns, shownSorting).slice(0, maxShownRows)
  const before = useRef<readonly Row[]>([])
  const isHeld = query?.isPolled === true && body.current?.contains(document.activeElement) === true
  const shown = isHeld ? updateInPlace(before.current, wanted, props.rowKey) : wanted
  before.current = shown
  const sortBy = ({ key, orderBy }: Column<Row>): void => {
    const isDown = shownSorting?.key === key && !shownSorting.isDown
    setSorting({ key, isDown })
    const order = orderBy === undefined ? undefined : `${isDown ? '-' : ''}${orderBy}`
    changeQuery({ order, page: undefined, cursor: undefined })
  }
  return (
    <div class="table-block">
      <div class="scroll" role="region" aria-label={caption} tabIndex={0} aria-busy={query?.isLoading === true}>
        <table>
          <caption>{caption}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <HeadCell
                  key={column.key}
                  column={column}
                  sorting={shownSorting}
                  canSort={!isPart || column.orderBy !== undefined}
                  onSort={() => sortBy(column)}
                />
              ))}
              {actions.length > 0 && (
                <th scope="col">
                  <span class="hidden">{t('actions')}</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody ref={body}>
            {shown.map((row) => (
              <tr key={props.rowKey(row)}>
                {columns.map((column) => (
                  <td key={column.key} class={column.isNumber === true ? 'number' : undefined}>
                    <Cell column={column} row={row} />
                  </td>
                ))}
                {actions.length > 0 && (
                  <td class="row-actions">
                    <RowButtons row={row} actions={actions} name={(props.rowName ?? props.rowKey)(row)} />
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length === 0 && props.rows !== undefined && <p class="empty">{empty}</p>}
      {rows.length > shown.length && shown.length === maxShownRows && (
        <p class="hint">{t('firstOf', { shown: maxShownRows, count: rows.length })}</p>
      )}
      {rows.length > 0 && <ExportButtons {...props} />}
    </div>
  )
}

interface Sorting {
  readonly key: string
  readonly isDown: boolean
}

/** The order in the route, if one of the columns has it. */
function findServerSorting<Row>(columns: readonly Column<Row>[]): Sorting | undefined {
  const order = readOrder(columns)
  const column = columns.find(({ orderBy }) => orderBy !== undefined && order?.replace(/^-/, '') === orderBy)
  return column === undefined || order === undefined ? undefined : { key: column.key, isDown: order.startsWith('-') }
}

/** The order in the route, for the query of the API; undefined: none, or none of these columns. */
export function readOrder<Row>(columns: readonly Column<Row>[]): string | undefined {
  const order = route.value.query['order']
  return columns.some(({ orderBy }) => orderBy !== undefined && orderBy === order?.replace(/^-/, ''))
    ? order
    : undefined
}

interface HeadProps<Row> {
  readonly column: Column<Row>
  readonly sorting: Sorting | undefined
  readonly canSort: boolean
  readonly onSort: () => void
}

function HeadCell<Row>({ column, sorting, canSort, onSort }: HeadProps<Row>): JSX.Element {
  const isSorted = sorting?.key === column.key
  const order = !isSorted ? 'none' : sorting.isDown ? 'descending' : 'ascending'
  if (!canSort)
    return (
      <th scope="col" class={column.isNumber === true ? 'number' : undefined}>
        {column.title}
      </th>
    )
  return (
    <th scope="col" aria-sort={order} class={column.isNumber === true ? 'number' : undefined}>
      <button type="button" class="sort" onClick={onSort}>
        {column.title}
        <span aria-hidden="true">{order === 'none' ? '' : order === 'ascending' ? ' ▲' : ' ▼'}</span>
      </button>
    </th>
  )
}

interface ButtonsProps<Row> {
  readonly row: Row
  readonly actions: readonly RowAction<Row>[]
  readonly name: string
}

function RowButtons<Row>({ row, actions, name }: ButtonsProps<Row>): JSX.Element {
  return (
    <>
      {actions
        .filter(({ isShown }) => isShown?.(row) ?? true)
        .map(({ word, run, findDisabledReason, isDangerous }) => {
          const reason = findDisabledReason?.(row)
          return (
            <button
              key={word}
              type="button"
              class={isDangerous === true ? 'small danger' : 'small'}
              aria-label={`${word} ${escapeHiddenLetters(name)}`}
              disabled={reason !== undefined}
              title={reason}
              onClick={() => run(row)}
            >
              {word}
            </button>
          )
        })}
    </>
  )
}

function ExportButtons<Row>({ columns, rows = [], loadAll, caption, fileName }: TableProps<Row>): JSX.Element {
  const name = fileName ?? caption.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  /** Returns undefined after a failed request, which the page reports. */
  const loadCells = async (word: string): Promise<CellValue[][] | undefined> => {
    const found = (await loadAll?.()) ?? { reply: { data: rows } }
    if ('failure' in found) {
      showFailed(`${word} ${caption}`, formatFailure(found.failure))
      return undefined
    }
    const { data, isCut } = found.reply
    if (isCut === true) showFailed(`${word} ${caption}`, t('exportCut', { count: data.length }))
    return data.map((row) => columns.map((column) => column.value(row)))
  }
  const exportCsv = async (): Promise<void> => {
    const cells = await loadCells(t('exportCsv'))
    if (cells === undefined) return
    const head = columns.map(({ title }) => title)
    saveFile(`${name}.csv`, 'text/csv', writeCsv([head, ...cells]))
  }
  const exportJson = async (): Promise<void> => {
    const cells = await loadCells(t('exportJson'))
    if (cells === undefined) return
    const keys = columns.map(({ key }) => key)
    const objects = cells.map((row) => Object.fromEntries(row.map((cell, at) => [keys[at] ?? '', cell])))
    saveFile(`${name}.json`, 'application/json', JSON.stringify(objects, undefined, 2))
  }
  return (
    <div class="export">
      <button type="button" class="small" onClick={() => void exportCsv()}>
        {t('exportCsv')}
      </button>
      <button type="button" class="small" onClick={() => void exportJson()}>
        {t('exportJson')}
      </button>
    </div>
  )
}

function Cell<Row>({ column, row }: { readonly column: Column<Row>; readonly row: Row }): JSX.Element {
  const value = column.value(row)
  const content = column.render === undefined ? renderCell(value) : column.render(row)
  // An empty value is nothing to copy.
  if (column.canCopy !== true || typeof value !== 'string' || value === '') return <>{content}</>
  return (
    <span class="with-copy">
      {content} <CopyButton text={value} what={value} isQuiet={true} />
    </span>
  )
}

function renderCell(value: CellValue): ComponentChildren {
  return typeof value === 'string' ? <Name text={value} /> : typeof value === 'boolean' ? String(value) : value
}

/** The rows that were shown, with the values of now. Others come, and those that are gone go, when the focus is elsewhere. */
function updateInPlace<Row>(before: readonly Row[], now: readonly Row[], keyOf: (row: Row) => string): readonly Row[] {
  const byKey = new Map(now.map((row) => [keyOf(row), row]))
  return before.map((row) => byKey.get(keyOf(row)) ?? row)
}

function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting: Sorting | undefined,
): readonly Row[] {
  const column = columns.find(({ key }) => key === sorting?.key)
  if (column === undefined || sorting === undefined) return rows
  const direction = sorting.isDown ? -1 : 1
  return rows.toSorted((a, b) => direction * compare(column.value(a), column.value(b)))
}

function compare(a: CellValue, b: CellValue): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a ?? '').localeCompare(String(b ?? ''))
}
