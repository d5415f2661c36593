// The stored form of a statement and its values. Values from a template are bound, so they never become SQL.

import type { CompileTemplate, RuleData, ActionEntry } from '../sink.ts'
import { compileSqlTemplate, type SqlDialect } from './sql-template.ts'

/** A value that can be bound. */
export type SqlValue = string | number | boolean | null | Buffer

export interface SqlStatement {
  /** The texts between the values: one more than values. */
  readonly texts: readonly string[]
  readonly values: readonly SqlValue[]
}

/** In JSON, bytes are an object with this key only. */
const bytesKey = '$base64'

export function createSqlRenderer(
  sql: string,
  dialect: SqlDialect,
  compile: CompileTemplate,
): (data: RuleData) => ActionEntry {
  const template = compileSqlTemplate(sql, dialect, compile)
  const head = formatEntryHead(template.texts)
  return (data) => {
    const values = JSON.stringify(template.resolveValues(data).map(toStoredValue))
    return { payload: Buffer.from(`${head}${values}}`), attributes: [] }
  }
}

/** Reads entries of one action. Their texts are the same until the action changes, and are then the same object. */
export class StatementReader {
  #head = Buffer.alloc(0)
  #texts: readonly string[] = []

  read({ payload }: ActionEntry): SqlStatement {
    const start = this.#head.length
    const isKnown = start > 0 && payload.compare(this.#head, 0, start, 0, start) === 0
    if (isKnown) return this.#createStatement(JSON.parse(payload.toString('utf8', start, payload.length - 1)))
    const { texts, values } = JSON.parse(payload.toString()) as { texts: string[]; values: unknown[] }
    this.#texts = texts
    this.#head = Buffer.from(formatEntryHead(texts))
    return this.#createStatement(values)
  }

  #createStatement(values: readonly unknown[]): SqlStatement {
    // Most values have the same form in the entry and in the statement.
    const isBound = !values.some((value) => typeof value === 'object' && value !== null)
    return { texts: this.#texts, values: isBound ? (values as readonly SqlValue[]) : values.map(toBoundValue) }
  }
}

/** Returns the common beginning of the entries of one statement. */
function formatEntryHead(texts: readonly string[]): string {
  return `{"texts":${JSON.stringify(texts)},"values":`
}

function toStoredValue(value: unknown): unknown {
  if (value === undefined || value === null) return null
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (value instanceof Uint8Array) return { [bytesKey]: Buffer.from(value).toString('base64') }
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? Number(inner) : inner))
}

function toBoundValue(stored: unknown): SqlValue {
  if (typeof stored === 'object' && stored !== null) {
    return Buffer.from(String((stored as Readonly<Record<string, unknown>>)[bytesKey]), 'base64')
  }
  return stored as SqlValue
}
