// The operators of jq between two filters, with their precedence.

import type { JqNode, JqOperator } from '../model/jq-syntax.ts'

export interface JqBinary {
  /** Operators of a higher level bind tighter. */
  readonly level: number
  readonly associates: 'left' | 'right' | 'never'
  make(left: JqNode, right: JqNode): JqNode
}

function createAssignment(symbol: '|=' | '=' | '//=' | '+=' | '-=' | '*=' | '/=' | '%='): [string, JqBinary] {
  const operator = (symbol.length > 1 && symbol !== '|=' ? symbol.slice(0, -1) : symbol) as '|='
  return [symbol, { level: 3, associates: 'never', make: (left, right) => ({ kind: 'assign', operator, left, right }) }]
}

function createOperation(operator: JqOperator, level: number, associates: JqBinary['associates']): [string, JqBinary] {
  return [operator, { level, associates, make: (left, right) => ({ kind: 'operation', operator, left, right }) }]
}

/** By their symbols. */
export const jqBinaries: ReadonlyMap<string, JqBinary> = new Map<string, JqBinary>([
  [',', { level: 1, associates: 'left', make: (left, right) => ({ kind: 'comma', left, right }) }],
  ['//', { level: 2, associates: 'right', make: (left, right) => ({ kind: 'alternative', left, right }) }],
  ...(['|=', '=', '//=', '+=', '-=', '*=', '/=', '%='] as const).map(createAssignment),
  ['or', { level: 4, associates: 'left', make: (left, right) => ({ kind: 'or', left, right }) }],
  ['and', { level: 5, associates: 'left', make: (left, right) => ({ kind: 'and', left, right }) }],
  ...(['==', '!=', '<', '<=', '>', '>='] as const).map((symbol) => createOperation(symbol, 6, 'never')),
  ...(['+', '-'] as const).map((symbol) => createOperation(symbol, 7, 'left')),
  ...(['*', '/', '%'] as const).map((symbol) => createOperation(symbol, 8, 'left')),
])
