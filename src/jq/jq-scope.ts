// The names that a jq program can use, and the exceptions that end its filters.

import { type Budget, encodeJson, isText, RuleError, type RuleValue, requireString } from '../values/index.ts'
import type { JqFunction, JqNode } from './model/jq-syntax.ts'

/** A filter with the names that it can use: an argument, or the body of a definition. */
export interface Closure {
  readonly parameters: readonly string[]
  readonly body: JqNode
  /** Undefined: the names before the definition, and the function itself. */
  readonly scope: Scope | undefined
}

export type Scope =
  | { readonly kind: 'variable'; readonly name: string; readonly value: RuleValue; readonly outer: Scope | undefined }
  | { readonly kind: 'function'; readonly name: string; readonly closure: Closure; readonly outer: Scope | undefined }
  | { readonly kind: 'label'; readonly name: string; readonly outer: Scope | undefined }

/** Functions that all programs can use, by name and number of parameters, such as `map/1`. */
export type JqLibrary = ReadonlyMap<string, FunctionScope>

export type FunctionScope = Extract<Scope, { kind: 'function' }>

/** The error of `error(value)` in a jq program. */
export class JqError extends RuleError {
  readonly value: RuleValue

  constructor(value: RuleValue, budget: Budget) {
    super(
      `jq: ${isText(value) ? requireString(value, 'the message') : `${encodeJson(value ?? null, budget)} (not a string)`}`,
    )
    this.value = value
  }
}

/** Ends the filter of a label. It is not an error: `try` does not catch it. */
export class Break {
  readonly label: Scope

  constructor(label: Scope) {
    this.label = label
  }
}

/** Wraps an error of a filter that follows a `try`, so that the `try` does not catch it. */
export class Passing {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

/** The scope of an argument outside of all definitions. */
export const noNames: Scope = { kind: 'label', name: '', outer: undefined }

/** Returns the scope of a function. The function can use itself and what was defined before it. */
export function createFunctionScope({ name, parameters, body }: JqFunction, outer: Scope | undefined): FunctionScope {
  return { kind: 'function', name, closure: { parameters, body, scope: undefined }, outer }
}

/** Returns the label with this name. Throws RuleError if there is none. */
export function findLabel(name: string, scope: Scope | undefined): Scope {
  for (let at = scope; at !== undefined; at = at.outer) if (at.kind === 'label' && at.name === name) return at
  throw new RuleError(`jq: $*label-${name} is not defined`)
}
