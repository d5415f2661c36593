// Topics of rules, taken apart, and what they match. Slow and plain: what the index must agree with.
//
// A rule covers a filter only if it covers everything that the filter can match: what is allowed for `a/+` is not
// allowed for `a/#`.

import { readAclTopic, type AclTopic } from '../../config/index.ts'
import type { Principal } from './principal.ts'

/** One level of a rule's filter. */
export type LevelPattern =
  | { readonly is: 'text'; readonly text: string }
  /** `+` */
  | { readonly is: 'one' }
  /** `#`: this level and all below it, or none. */
  | { readonly is: 'rest' }
  | { readonly is: 'template'; readonly parts: readonly TemplatePart[] }

export type TemplatePart = { readonly text: string } | { readonly value: 'clientId' | 'username' }

export interface FilterPattern {
  readonly kind: 'filter'
  readonly levels: readonly LevelPattern[]
}

export interface LiteralPattern {
  readonly kind: 'literal'
  readonly text: string
  /** What it matches where it is read as a filter; undefined where it has no wildcards in their places. */
  readonly asFilter: FilterPattern | undefined
}

export type TopicPattern = FilterPattern | LiteralPattern

const placeholder = /(\$\{clientid\}|\$\{username\})/

/** Takes a rule's topic apart. */
export function patternOf(topic: AclTopic): TopicPattern {
  return topic.kind === 'filter' ? filterPattern(topic.text) : literalPattern(topic.text)
}

function filterPattern(text: string): FilterPattern {
  return { kind: 'filter', levels: text.split('/').map(levelPattern) }
}

function literalPattern(text: string): LiteralPattern {
  const isFilter = /[+#]/.test(text) && !text.startsWith('@') && !('problem' in readAclTopic(text))
  // Without templates: in what is literal `%c` is two letters.
  const levels = isFilter ? text.split('/').map(plainLevel) : []
  return { kind: 'literal', text, asFilter: isFilter ? { kind: 'filter', levels } : undefined }
}

function plainLevel(level: string): LevelPattern {
  if (level === '+') return { is: 'one' }
  return level === '#' ? { is: 'rest' } : { is: 'text', text: level }
}

function levelPattern(level: string): LevelPattern {
  if (level === '%c') return { is: 'template', parts: [{ value: 'clientId' }] }
  if (level === '%u') return { is: 'template', parts: [{ value: 'username' }] }
  const pieces = level.split(placeholder).filter((piece) => piece !== '')
  if (!pieces.some((piece) => placeholder.test(piece))) return plainLevel(level)
  return { is: 'template', parts: pieces.map(templatePart) }
}

function templatePart(piece: string): TemplatePart {
  if (piece === '${clientid}') return { value: 'clientId' }
  return piece === '${username}' ? { value: 'username' } : { text: piece }
}

/** Whether some level stands for what this client is called. */
export function hasPlaceholder(pattern: TopicPattern, value: 'clientId' | 'username'): boolean {
  if (pattern.kind === 'literal') return false
  return pattern.levels.some(
    (level) => level.is === 'template' && level.parts.some((part) => 'value' in part && part.value === value),
  )
}

/** The level with the client's values in it. The values have been looked at: see `speakerOf`. */
export function fillTemplate(parts: readonly TemplatePart[], principal: Principal): string {
  return parts.map((part) => ('text' in part ? part.text : (principal[part.value] ?? ''))).join('')
}

function matchesLevel(pattern: LevelPattern | undefined, level: string, principal: Principal): boolean {
  if (pattern === undefined) return false
  if (pattern.is === 'template') return fillTemplate(pattern.parts, principal) === level
  return pattern.is === 'one' || (pattern.is === 'text' && pattern.text === level)
}

/** Topics that begin with `$` are not meant by a leading wildcard [MQTT-4.7.2-1], unless `isWide`. */
function isHidden(pattern: FilterPattern, firstLevel: string | undefined, isWide: boolean): boolean {
  const first = pattern.levels[0]?.is
  return !isWide && firstLevel?.startsWith('$') === true && (first === 'one' || first === 'rest')
}

/** Whether the pattern matches a topic name. `isWide`: leading wildcards match what begins with `$` as well. */
export function matchesTopic(
  pattern: FilterPattern,
  topic: readonly string[],
  principal: Principal,
  isWide: boolean,
): boolean {
  if (isHidden(pattern, topic[0], isWide)) return false
  for (const [index, level] of pattern.levels.entries()) {
    if (level.is === 'rest') return true
    const given = topic[index]
    if (given === undefined || !matchesLevel(level, given, principal)) return false
  }
  return pattern.levels.length === topic.length
}

/** Whether the pattern matches every topic that `filter` matches. `isWide` as above. */
export function coversFilter(
  pattern: FilterPattern,
  filter: readonly string[],
  principal: Principal,
  isWide: boolean,
): boolean {
  if (isHidden(pattern, filter[0], isWide)) return false
  for (const [index, level] of pattern.levels.entries()) {
    if (level.is === 'rest') return true
    const wanted = filter[index]
    if (wanted === undefined) return false
    // Every topic has a first level, so `#` alone is no more than `+/#`. Further down it matches what has no such level.
    if (wanted === '#') return index === 0 && level.is === 'one' && pattern.levels[1]?.is === 'rest'
    const isCovered = wanted === '+' ? level.is === 'one' : matchesLevel(level, wanted, principal)
    if (!isCovered) return false
  }
  return pattern.levels.length === filter.length
}
