import type { RuleMap } from '../../values/index.ts'
import type { Frame } from './frame.ts'

/** Evaluates a statement. Undefined if WHERE is not true. */
export type RunStatement = (frame: Frame) => readonly RuleMap[] | undefined

export interface CompiledStatement {
  readonly run: RunStatement
  /** Evaluates only the fields, so that parts of the condition can be evaluated after it. */
  readonly prepare: (frame: Frame) => void
}
