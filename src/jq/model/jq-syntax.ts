// The tree of a jq program.

import type { RuleValue } from '../../values/index.ts'

export type JqOperator = '+' | '-' | '*' | '/' | '%' | '==' | '!=' | '<' | '<=' | '>' | '>='

export interface JqFunction {
  readonly name: string
  /** Parameters that begin with `$` are values, others filters. */
  readonly parameters: readonly string[]
  readonly body: JqNode
}

export type JqPattern =
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'array'; readonly items: readonly JqPattern[] }
  | { readonly kind: 'object'; readonly members: readonly { readonly key: JqNode; readonly pattern: JqPattern }[] }

export type JqNode =
  | { readonly kind: 'identity' }
  | { readonly kind: 'literal'; readonly value: RuleValue }
  | { readonly kind: 'text'; readonly parts: readonly (string | JqNode)[]; readonly format: string }
  | { readonly kind: 'format'; readonly format: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'index'; readonly of: JqNode; readonly key: JqNode }
  | { readonly kind: 'slice'; readonly of: JqNode; readonly from: JqNode | undefined; readonly to: JqNode | undefined }
  | { readonly kind: 'iterate'; readonly of: JqNode }
  | { readonly kind: 'pipe' | 'comma' | 'alternative' | 'and' | 'or'; readonly left: JqNode; readonly right: JqNode }
  | { readonly kind: 'operation'; readonly operator: JqOperator; readonly left: JqNode; readonly right: JqNode }
  | { readonly kind: 'negate'; readonly of: JqNode }
  | { readonly kind: 'array'; readonly of: JqNode | undefined }
  | { readonly kind: 'object'; readonly members: readonly { readonly key: JqNode; readonly value: JqNode }[] }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly JqNode[] }
  | { readonly kind: 'define'; readonly function: JqFunction; readonly rest: JqNode }
  | { readonly kind: 'bind'; readonly source: JqNode; readonly pattern: JqPattern; readonly body: JqNode }
  | {
      readonly kind: 'reduce'
      readonly source: JqNode
      readonly pattern: JqPattern
      readonly init: JqNode
      readonly update: JqNode
    }
  | {
      readonly kind: 'foreach'
      readonly source: JqNode
      readonly pattern: JqPattern
      readonly init: JqNode
      readonly update: JqNode
      readonly extract: JqNode
    }
  | { readonly kind: 'if'; readonly condition: JqNode; readonly yes: JqNode; readonly no: JqNode }
  | { readonly kind: 'try'; readonly body: JqNode; readonly handler: JqNode | undefined }
  | { readonly kind: 'label'; readonly name: string; readonly body: JqNode }
  | { readonly kind: 'break'; readonly name: string }
  /** `|=` and its relatives: `operator` undefined is `|=`, '=' and the others take values of the right side. */
  | {
      readonly kind: 'assign'
      readonly operator: '|=' | '=' | '//' | '+' | '-' | '*' | '/' | '%'
      readonly left: JqNode
      readonly right: JqNode
    }
