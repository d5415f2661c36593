// The syntax tree of a rule.

import type { ArithmeticOperator, ComparisonOperator, RuleValue } from '../../values/index.ts'

export type Segment =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: Expression }
  /** `[0]` and `[-0]`: in an alias, the place before the first and after the last element. */
  | { readonly kind: 'prepend' }
  | { readonly kind: 'append' }

/** `payload.a[1]`: a column or alias and the way into it. */
export interface Path {
  readonly root: string
  readonly segments: readonly Segment[]
}

interface Node {
  /** Offsets of the text in the SQL. */
  readonly start: number
  readonly end: number
}

export interface PathNode extends Node, Path {
  readonly kind: 'path'
}

export interface CallNode extends Node {
  readonly kind: 'call'
  readonly name: string
  readonly args: readonly Expression[]
}

export interface CaseNode extends Node {
  readonly kind: 'case'
  readonly subject: Expression | undefined
  readonly branches: readonly { readonly when: Expression; readonly result: Expression }[]
  readonly otherwise: Expression | undefined
}

export type Expression =
  | (Node & { readonly kind: 'literal'; readonly value: RuleValue })
  | PathNode
  | CallNode
  | CaseNode
  | (Node & { readonly kind: 'array'; readonly items: readonly Expression[] })
  | (Node & { readonly kind: 'range'; readonly from: number; readonly to: number })
  | (Node & { readonly kind: 'slice'; readonly path: PathNode; readonly from: number; readonly to: number })
  | (Node & { readonly kind: 'sign'; readonly isNegative: boolean; readonly operand: Expression })
  | (Node & {
      readonly kind: 'arithmetic'
      readonly operator: ArithmeticOperator
      readonly left: Expression
      readonly right: Expression
    })
  | (Node & {
      readonly kind: 'comparison'
      readonly operator: ComparisonOperator | '=~'
      readonly left: Expression
      readonly right: Expression
    })
  | (Node & { readonly kind: 'in'; readonly operand: Expression; readonly options: readonly Expression[] })
  | (Node & { readonly kind: 'not'; readonly operand: Expression })
  /** All operands of a chain: `a AND b AND c` is one node. */
  | (Node & { readonly kind: 'and' | 'or'; readonly operands: readonly Expression[] })

export type Field =
  | { readonly kind: 'all' }
  | { readonly kind: 'expression'; readonly expression: Expression; readonly alias: Path | undefined }

export interface SourceNode extends Node {
  readonly text: string
}

interface StatementParts {
  readonly fields: readonly Field[]
  readonly from: readonly SourceNode[]
  readonly where: Expression | undefined
}

export interface SelectStatement extends StatementParts {
  readonly kind: 'select'
}

export interface ForeachStatement extends StatementParts {
  readonly kind: 'foreach'
  /** Undefined without DO. */
  readonly perItem: readonly Field[] | undefined
  readonly inCase: Expression | undefined
}

export type Statement = SelectStatement | ForeachStatement
