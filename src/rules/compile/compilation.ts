// What the compilation of one statement collects.

import { maxWarnings } from '../limits/rule-limits.ts'
import { findNearestName, findPosition, quoteText } from '../../values/index.ts'
import type { CallNode, PathNode } from '../sql/sql-syntax.ts'
import type { Scope } from './scope.ts'

/** Something that compiles, but cannot work as written. */
export interface RuleWarning {
  readonly kind: 'unknown-function' | 'wrong-argument-count' | 'unknown-column' | 'old-event-name'
  readonly message: string
  readonly line: number
  readonly column: number
  /** Hint about the remedy; may be empty. */
  readonly hint: string
}

/** Names that read as a missing value on purpose. */
const valueNames = new Set(['undefined'])

export class Compilation {
  readonly sql: string
  readonly warnings: RuleWarning[] = []
  /** Names of schemas that calls have as a text. */
  readonly schemas = new Set<string>()
  readonly #columns: ReadonlySet<string> | undefined

  /** `columns`: what the sources of the statement provide. Undefined if that is not known. */
  constructor(sql: string, columns: ReadonlySet<string> | undefined) {
    this.sql = sql
    this.#columns = columns
  }

  warn(kind: RuleWarning['kind'], at: { readonly start: number }, message: string, hint: string): void {
    if (this.#isFull()) return
    this.warnings.push({ kind, message, ...findPosition(this.sql, at.start), hint })
  }

  #isFull(): boolean {
    return this.warnings.length >= maxWarnings
  }

  /** Warns about a column that no source of the statement has. */
  checkColumn(path: PathNode, scope: Scope): void {
    const { root } = path
    if (this.#columns === undefined || this.#isFull()) return
    if (scope.has(root) || this.#columns.has(root) || valueNames.has(root)) return
    const near = findNearestName(root, this.#columns)
    const hint = near === undefined ? `columns: ${[...this.#columns].join(', ')}` : `did you mean ${near}?`
    this.warn('unknown-column', path, `no source of this rule has a column ${quoteText(root)}`, hint)
  }

  /** Notes the schema that a call names. A name that is computed is not known before the rule runs. */
  recordSchema({ name, args }: CallNode): void {
    const schema = name.startsWith('schema_') ? args[0] : undefined
    if (schema?.kind === 'literal' && typeof schema.value === 'string') this.schemas.add(schema.value)
  }

  warnUnknownFunction(call: CallNode, names: Iterable<string>): void {
    if (this.#isFull()) return
    const near = findNearestName(call.name, names)
    const hint = near === undefined ? '' : `did you mean ${near}?`
    this.warn('unknown-function', call, `there is no function ${quoteText(call.name)}`, hint)
  }
}
