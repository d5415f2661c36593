// Rules across fields. Each is written once: `check` is used offline and by the operator, `cel` by the API server.

import type { ManifestPath } from '../documents/manifest-node.ts'

/** A violation, relative to the object of the rule. */
export interface Violation {
  readonly path: ManifestPath
  /** In place of the message of the rule. */
  readonly message?: string
}

interface RuleText {
  /** Objects that the rule is about: `spec`, or `spec.tolerations[]` for each item; empty: the resource. */
  readonly at: string
  /**
   * The same as an expression of CEL; undefined: CEL cannot express it, or the API server would estimate too high a cost for it. In names of
   * fields, a dot is `__dot__`.
   */
  readonly cel: string | undefined
  readonly message: string
  readonly hint: string
}

export interface Rule<T = never> extends RuleText {
  check(this: void, value: T): readonly Violation[]
}

/** A rule about a change: `cel` uses `oldSelf`. */
export interface TransitionRule<T = never> extends RuleText {
  check(this: void, value: T, previous: T): readonly Violation[]
}

/** Defines a rule about objects of the type `T`. */
export function defineRule<T>(rule: Rule<T>): Rule<T> {
  return rule
}

/** Defines a rule about a change of objects of the type `T`. */
export function defineTransition<T>(rule: TransitionRule<T>): TransitionRule<T> {
  return rule
}

export const noViolation: readonly Violation[] = []

/** Returns a violation at `path` if the condition does not hold. */
export function ensure(isGood: boolean, path: ManifestPath, message?: string): readonly Violation[] {
  if (isGood) return noViolation
  return [message === undefined ? { path } : { path, message }]
}

/** Item of a list that may be absent. */
export type ItemOf<L> = NonNullable<NonNullable<L> extends readonly (infer I)[] ? I : never>

/** Returns the texts as a list of CEL. They have no quotes. */
export function toCelList(items: readonly string[]): string {
  return `[${items.map((item) => `'${item}'`).join(', ')}]`
}
