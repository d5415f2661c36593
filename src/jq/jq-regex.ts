// Regular expressions of jq, by the engine of rules: its time is proportional to the text.

import {
  type Budget,
  isArray,
  isText,
  RuleError,
  type RuleMap,
  type RuleValue,
  requireString,
} from '../values/index.ts'
import { type Captures, Regex } from '../regex/index.ts'
import { describeValue } from './jq-values.ts'

interface Search {
  readonly regex: Regex
  readonly isGlobal: boolean
}

function createSearch(pattern: RuleValue, flags: RuleValue, budget: Budget): Search {
  if (isArray(pattern)) return createSearch(pattern[0] ?? null, pattern[1] ?? flags, budget)
  if (!isText(pattern)) throw new RuleError(`jq: ${describeValue(pattern, budget)} is not a regular expression`)
  const text = requireString(pattern, 'jq: the regular expression')
  const letters = isText(flags) ? requireString(flags, 'jq: the flags') : ''
  const unknown = /[^gin]/u.exec(letters)?.[0]
  if (unknown !== undefined)
    throw new RuleError(`jq: the flag ${unknown} of regular expressions is not supported: use g, i and n`)
  budget.countRead(16 * text.length)
  return { regex: new Regex(letters.includes('i') ? `(?i)${text}` : text), isGlobal: letters.includes('g') }
}

function* findMatches(text: string, { regex, isGlobal }: Search, budget: Budget): Generator<Captures> {
  for (let at = 0; at <= text.length;) {
    const captures = regex.exec(text, at, budget)
    const [start, end] = [captures?.[0], captures?.[1]]
    if (captures === undefined || start === undefined || end === undefined) return
    yield captures
    if (!isGlobal) return
    at = end > start ? end : end + ((text.codePointAt(end) ?? 0) > 0xff_ff ? 2 : 1)
  }
}

export function testText(text: string, pattern: RuleValue, flags: RuleValue, budget: Budget): boolean {
  return createSearch(pattern, flags, budget).regex.exec(text, 0, budget, false) !== undefined
}

/** Match objects, in order. Positions are in UTF-16 units. */
export function matchText(text: string, pattern: RuleValue, flags: RuleValue, budget: Budget): RuleValue {
  const search = createSearch(pattern, flags, budget)
  return Array.from(findMatches(text, search, budget), (captures): RuleMap => {
    budget.countCreated(64 * search.regex.groups)
    const groups = Array.from({ length: search.regex.groups - 1 }, (_, index) => ({
      ...toMatchPart(text, captures, index + 1),
      name: null,
    }))
    return { ...toMatchPart(text, captures, 0), captures: groups }
  })
}

/** For each match its groups, or the match where there are none. */
export function captureText(text: string, pattern: RuleValue, flags: RuleValue, budget: Budget): RuleValue {
  const search = createSearch(pattern, flags, budget)
  return Array.from(findMatches(text, search, budget), (captures): RuleValue => {
    budget.countCreated(16 * search.regex.groups)
    if (search.regex.groups === 1) return toMatchPart(text, captures, 0)['string']
    return Array.from(
      { length: search.regex.groups - 1 },
      (_, index) => toMatchPart(text, captures, index + 1)['string'],
    )
  })
}

function toMatchPart(text: string, captures: Captures, group: number): RuleMap {
  const [start, end] = [captures[2 * group], captures[2 * group + 1]]
  if (start === undefined || end === undefined) return { offset: -1, length: 0, string: null }
  return { offset: start, length: end - start, string: text.slice(start, end) }
}

/** The replacement is a text as it is. */
export function substitute(text: string, pattern: RuleValue, flags: RuleValue, by: string, budget: Budget): string {
  const pieces: string[] = []
  let copied = 0
  for (const [start = 0, end = 0] of findMatches(text, createSearch(pattern, flags, budget), budget)) {
    budget.countCreated(start - copied + by.length)
    pieces.push(text.slice(copied, start), by)
    copied = end
  }
  budget.countCreated(text.length - copied)
  return pieces.join('') + text.slice(copied)
}
