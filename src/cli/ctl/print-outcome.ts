// Prints the results of `godwit ctl`: tables for people, plain lines for scripts, one JSON document for programs.

import { exitCodes, type Terminal } from '../terminal/terminal.ts'
import type { Outcome, Row } from './ctl-command.ts'

/** Gives the exit code. */
export function printOutcome(outcome: Outcome, terminal: Terminal, asJson: boolean): number {
  if ('usage' in outcome) {
    terminal.fail(outcome.usage)
    return exitCodes.wrongUsage
  }
  if ('problem' in outcome) return terminal.fail(outcome.problem)
  if ('failure' in outcome) {
    const { kind, code, message } = outcome.failure
    const text = kind === 'refused' ? `${message} (code ${code})` : message
    return terminal.fail(...(outcome.hasLines === true ? text.split('\n') : [text]).map(escapeControls))
  }
  terminal.print(asJson ? `${JSON.stringify(toDocument(outcome))}\n` : formatOutcome(outcome, terminal))
  return 'rows' in outcome && outcome.hasFailed === true ? exitCodes.failed : exitCodes.done
}

type Shown = Exclude<Outcome, { usage: string } | { problem: string } | { failure: unknown }>

function toDocument(outcome: Shown): unknown {
  if ('rows' in outcome) return outcome.document ?? outcome.rows
  if ('thing' in outcome) return outcome.document ?? outcome.thing
  if ('done' in outcome) return { done: outcome.done }
  return outcome.document ?? { text: outcome.text }
}

function formatOutcome(outcome: Shown, terminal: Terminal): string {
  if ('text' in outcome) return outcome.text.endsWith('\n') ? outcome.text : `${outcome.text}\n`
  if ('done' in outcome) return `${escapeControls(outcome.done)}\n`
  if ('thing' in outcome) return formatThing(outcome.thing)
  const columns = outcome.columns ?? listColumns(outcome.rows)
  const cells = outcome.rows.map((row) => columns.map((column) => formatCell(row[column])))
  if (!terminal.isTerminal) return cells.map((row) => `${row.join('\t')}\n`).join('')
  return outcome.rows.length === 0 ? 'none\n' : formatTable([columns, ...cells], terminal)
}

function listColumns(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))]
}

function formatThing(thing: Row): string {
  const width = Math.max(0, ...Object.keys(thing).map((key) => key.length))
  return Object.entries(thing)
    .map(([key, value]) => `${key.padEnd(width)}  ${formatCell(value)}\n`)
    .join('')
}

/** Cells that make a line wider than the terminal are shortened; the heading is bold where there are colours. */
function formatTable(rows: readonly (readonly string[])[], { columns, usesColors }: Terminal): string {
  const [first = []] = rows
  const widths = fitWidths(
    first.map((_cell, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0))),
    columns,
  )
  const lines = rows.map((row) =>
    row
      .map((cell, at) => fitCell(cell, widths[at] ?? 0))
      .join(gap)
      .trimEnd(),
  )
  const [heading = '', ...others] = lines
  return `${[usesColors ? `\u001b[1m${heading}\u001b[0m` : heading, ...others].join('\n')}\n`
}

const gap = '  '
/** No column becomes narrower than this. */
const minWidth = 12

/** The widest columns give way first. */
function fitWidths(widths: readonly number[], columns: number | undefined): readonly number[] {
  const fitting = [...widths]
  const maxTotalWidth = (columns ?? Number.POSITIVE_INFINITY) - gap.length * (widths.length - 1)
  for (let sum = widths.reduce((total, width) => total + width, 0); sum > maxTotalWidth; sum -= 1) {
    const widest = fitting.indexOf(Math.max(...fitting))
    const width = fitting[widest] ?? 0
    if (width <= minWidth) break
    fitting[widest] = width - 1
  }
  return fitting
}

function fitCell(cell: string, width: number): string {
  return cell.length > width ? `${cell.slice(0, width - 1)}…` : cell.padEnd(width)
}

function formatCell(value: unknown): string {
  if (value === undefined || value === null) return ''
  return escapeControls(typeof value === 'string' ? value : JSON.stringify(value))
}

/** Text of clients may contain any character: control characters are escaped, so a line stays one line. */
export function escapeControls(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (letter) => `\\u${(letter.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
}
