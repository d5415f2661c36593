// Regular expressions for others than rules: topics of clients are matched with them.

import { Budget, RuleError } from '../values/index.ts'
import { Regex } from './regex.ts'

/** Groups of the first match, the whole first; undefined: no match, or more work than one text may take. */
export type Matcher = (text: string) => readonly (string | undefined)[] | undefined

/** Compiles a pattern. A text: why it is none. */
export function compileMatcher(pattern: string): Matcher | string {
  try {
    const regex = new Regex(pattern)
    return (text) => findGroups(regex, text)
  } catch (error) {
    if (error instanceof RuleError) return error.message
    throw error
  }
}

function findGroups(regex: Regex, text: string): readonly (string | undefined)[] | undefined {
  try {
    const found = regex.exec(text, 0, new Budget())
    if (found === undefined) return undefined
    return Array.from({ length: regex.groups }, (_, group) => {
      const [start, end] = [found[group * 2], found[group * 2 + 1]]
      return start === undefined || end === undefined ? undefined : text.slice(start, end)
    })
  } catch (error) {
    if (error instanceof RuleError) return undefined
    throw error
  }
}
