// Functions with regular expressions. See regex/regex.ts for the engine.

import { type Captures, Regex } from '../../regex/index.ts'
import type { RuleArray, RuleValue } from '../../values/index.ts'
import type { Call, FunctionDefinitions } from './rule-function.ts'

interface CompiledPattern {
  readonly pattern: string
  readonly regex: Regex
}

/** The pattern is mostly constant: each place in the SQL keeps its last one. */
function compileRegex(pattern: RuleValue, { site, budget }: Call): Regex {
  const known = site.memo as CompiledPattern | undefined
  if (known !== undefined && known.pattern === pattern) return known.regex
  budget.countRead(16 * (pattern as string).length)
  const regex = new Regex(pattern as string)
  site.memo = { pattern, regex }
  return regex
}

function matches([text, pattern]: readonly RuleValue[], call: Call): boolean {
  return compileRegex(pattern, call).exec(text as string, 0, call.budget, false) !== undefined
}

function extract([text, pattern]: readonly RuleValue[], call: Call): RuleArray {
  const regex = compileRegex(pattern, call)
  const captures = regex.exec(text as string, 0, call.budget)
  if (captures === undefined) return []
  call.budget.countCreated((text as string).length + 8 * regex.groups)
  const groups = Array.from({ length: regex.groups - 1 }, (_, index) => readGroup(text as string, captures, index + 1))
  // Groups at the end that took part in nothing are left out.
  const used = captures.findLastIndex((position) => position !== undefined)
  return groups.slice(0, Math.floor(used / 2))
}

function readGroup(text: string, captures: Captures, group: number): string {
  const [start, end] = [captures[2 * group], captures[2 * group + 1]]
  return start === undefined || end === undefined ? '' : text.slice(start, end)
}

function replaceAll([text, pattern, by]: readonly RuleValue[], call: Call): RuleValue {
  const regex = compileRegex(pattern, call)
  const whole = text as string
  const references = (by as string).split(/[&\\]/).length - 1
  const pieces: string[] = []
  let copied = 0
  let at = 0
  while (at <= whole.length) {
    const captures = regex.exec(whole, at, call.budget)
    const [start, end] = [captures?.[0], captures?.[1]]
    if (captures === undefined || start === undefined || end === undefined) break
    // A reference inserts at most the whole match.
    call.budget.countCreated(start - copied + (by as string).length + references * (end - start) + 16)
    pieces.push(whole.slice(copied, start), expandReplacement(by as string, whole, captures))
    copied = end
    // After an empty match, the search goes on behind the next character.
    at = end > start ? end : end + ((whole.codePointAt(end) ?? 0) > 0xff_ff ? 2 : 1)
  }
  call.budget.countCreated(whole.length - copied)
  return pieces.join('') + whole.slice(copied)
}

const reference = /\\(\d+|g\{\d+\}|.)|&/gs

/** `&` is the whole match, `\1` and `\g{1}` are groups, a backslash before another character makes it plain. */
function expandReplacement(by: string, text: string, captures: Captures): string {
  if (!by.includes('&') && !by.includes('\\')) return by
  return by.replace(reference, (_whole, escaped: string | undefined) => {
    if (escaped === undefined) return readGroup(text, captures, 0)
    const digits = /\d+/.exec(escaped)?.[0]
    return digits === undefined ? escaped : readGroup(text, captures, Number(digits))
  })
}

export const regularExpressionFunctions: FunctionDefinitions = {
  regex_match: {
    signatures: ['text: text, pattern: text'],
    returns: 'boolean',
    description: 'Whether a regular expression matches anywhere in the text.',
    run: matches,
  },
  regex_replace: {
    signatures: ['text: text, pattern: text, by: text'],
    returns: 'text',
    description: 'Text with all matches replaced. In the replacement, `&` is the match and `\\1` the first group.',
    run: replaceAll,
  },
  regex_extract: {
    signatures: ['text: text, pattern: text'],
    returns: 'array',
    description: 'Groups of the first match; an empty array without a match.',
    run: extract,
  },
}
