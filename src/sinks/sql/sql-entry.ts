// A statement with its values, as it is stored: what a template inserts is bound and never becomes SQL.

import type { CompileTemplate, RuleData, SpoolEntry, Template } from '../sink.ts'

/** A value that a database takes. */
export type SqlValue = string | number | boolean | null | Buffer

export interface SqlStatement {
  /** The fixed texts: one more than there are values. */
  readonly texts: readonly string[]
  readonly values: readonly SqlValue[]
}

/** Bytes stand in JSON as an object with this one key. */
const bytesKey = '$base64'

export function sqlRenderer(sql: string, compile: CompileTemplate): (data: RuleData) => SpoolEntry {
  const template = compile(sql)
  const texts = textsOf(template)
  return (data) => {
    const values = template.values(data).map(storedValue)
    return { payload: Buffer.from(JSON.stringify({ texts, values })), attributes: [] }
  }
}

export function readStatement({ payload }: SpoolEntry): SqlStatement {
  const { texts, values } = JSON.parse(payload.toString()) as { texts: string[]; values: unknown[] }
  return { texts, values: values.map(boundValue) }
}

/** Around each placeholder one text. Quotes that stand right around one go: the value is bound, and not text of SQL. */
function textsOf({ parts }: Template): readonly string[] {
  const texts: string[] = ['']
  for (const part of parts) {
    if (typeof part === 'string') texts[texts.length - 1] += part
    else texts.push('')
  }
  for (let at = 0; at + 1 < texts.length; at++) {
    const [before, after] = [texts[at], texts[at + 1]]
    if (!before.endsWith("'") || !after.startsWith("'")) continue
    texts[at] = before.slice(0, -1)
    texts[at + 1] = after.slice(1)
  }
  return texts
}

function storedValue(value: unknown): unknown {
  if (value === undefined || value === null) return null
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (value instanceof Uint8Array) return { [bytesKey]: Buffer.from(value).toString('base64') }
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? Number(inner) : inner))
}

function boundValue(stored: unknown): SqlValue {
  if (typeof stored === 'object' && stored !== null) {
    return Buffer.from(String((stored as Readonly<Record<string, unknown>>)[bytesKey]), 'base64')
  }
  return stored as SqlValue
}
