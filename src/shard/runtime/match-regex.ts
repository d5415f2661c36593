// Regular expressions of `rewrite`, with the engine of rules: their time is limited for any topic.

import type { MatchRegex } from '../../core/index.ts'
import { compileMatcher } from '../../regex/index.ts'

type Matcher = ReturnType<typeof compileMatcher>

/** More than a configuration has: beyond it the oldest are compiled again. */
const maxPatterns = 1_000

/** Compiles each pattern once. An invalid pattern matches nothing: the configuration was checked. */
export function createMatchRegex(): MatchRegex {
  const compiled = new Map<string, Matcher>()
  return (pattern, text) => {
    let matcher = compiled.get(pattern)
    if (matcher === undefined) {
      if (compiled.size >= maxPatterns) compiled.clear()
      matcher = compileMatcher(pattern)
      compiled.set(pattern, matcher)
    }
    return typeof matcher === 'string' ? undefined : matcher(text)
  }
}
