// Regular expressions of `rewrite`, in the engine of rules: their time is bounded, whatever topics clients say.

import type { MatchRegex } from '../../core/index.ts'
import { matcherOf } from '../../rules/index.ts'

type Matcher = ReturnType<typeof matcherOf>

/** More than a configuration has: beyond it the first are compiled anew. */
const maxPatterns = 1_000

/** Compiles each pattern once. A pattern that is wrong matches nothing: the configuration has been checked. */
export function createMatchRegex(): MatchRegex {
  const compiled = new Map<string, Matcher>()
  return (pattern, text) => {
    let matcher = compiled.get(pattern)
    if (matcher === undefined) {
      if (compiled.size >= maxPatterns) compiled.clear()
      matcher = matcherOf(pattern)
      compiled.set(pattern, matcher)
    }
    return typeof matcher === 'string' ? undefined : matcher(text)
  }
}
