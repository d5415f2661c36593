// Parsed topics of rules, and what they match. Slow and simple; the index must agree with it.
//
// A rule covers a filter only if it covers everything that the filter matches: a rule that allows `a/+` does not allow
// `a/#`.

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
  /** The pattern as a topic filter; undefined if its wildcards are not valid in a filter. */
  readonly asFilter: FilterPattern | undefined
}

export type TopicPattern = FilterPattern | LiteralPattern

const placeholder = /(\$\{clientid\}|\$\{username\})/

/** Parses a rule's topic. */
export function parseTopicPattern(topic: AclTopic): TopicPattern {
  return topic.kind === 'filter' ? parseFilterPattern(topic.text) : parseLiteralPattern(topic.text)
}

function parseFilterPattern(text: string): FilterPattern {
  return { kind: 'filter', levels: text.split('/').map(parseLevelPattern) }
}

function parseLiteralPattern(text: string): LiteralPattern {
  const isFilter = /[+#]/.test(text) && !text.startsWith('@') && !('problem' in readAclTopic(text))
  // Without templates: in literal text `%c` is two characters.
  const levels = isFilter ? text.split('/').map(parsePlainLevel) : []
  return { kind: 'literal', text, asFilter: isFilter ? { kind: 'filter', levels } : undefined }
}

function parsePlainLevel(level: string): LevelPattern {
  if (level === '+') return { is: 'one' }
  return level === '#' ? { is: 'rest' } : { is: 'text', text: level }
}

function parseLevelPattern(level: string): LevelPattern {
  if (level === '%c') return { is: 'template', parts: [{ value: 'clientId' }] }
  if (level === '%u') return { is: 'template', parts: [{ value: 'username' }] }
  const pieces = level.split(placeholder).filter((piece) => piece !== '')
  if (!pieces.some((piece) => placeholder.test(piece))) return parsePlainLevel(level)
  return { is: 'template', parts: pieces.map(parseTemplatePart) }
}

function parseTemplatePart(piece: string): TemplatePart {
  if (piece === '${clientid}') return { value: 'clientId' }
  return piece === '${username}' ? { value: 'username' } : { text: piece }
}

/** Returns whether a level contains this value of the client. */
export function hasPlaceholder(pattern: TopicPattern, value: 'clientId' | 'username'): boolean {
  if (pattern.kind === 'literal') return false
  return pattern.levels.some(
    (level) => level.is === 'template' && level.parts.some((part) => 'value' in part && part.value === value),
  )
}

/** Inserts the client's values into the level. The values were checked: see `principal.ts`. */
export function fillTemplate(parts: readonly TemplatePart[], principal: Principal): string {
  return parts.map((part) => ('text' in part ? part.text : (principal[part.value] ?? ''))).join('')
}

function matchesLevel(pattern: LevelPattern | undefined, level: string, principal: Principal): boolean {
  if (pattern === undefined) return false
  if (pattern.is === 'template') return fillTemplate(pattern.parts, principal) === level
  return pattern.is === 'one' || (pattern.is === 'text' && pattern.text === level)
}

/** A leading wildcard does not match topics that start with `$` [MQTT-4.7.2-1], unless `isWide`. */
function isHidden(pattern: FilterPattern, firstLevel: string | undefined, isWide: boolean): boolean {
  const first = pattern.levels[0]?.is
  return !isWide && firstLevel?.startsWith('$') === true && (first === 'one' || first === 'rest')
}

/** Returns whether the pattern matches a topic name. `isWide`: leading wildcards match topics with `$` as well. */
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

/** Returns whether the pattern matches every topic that `filter` matches. `isWide` as above. */
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
    // Every topic has a first level, so `#` alone is no more than `+/#`. At lower levels it also matches the parent.
    if (wanted === '#') return index === 0 && level.is === 'one' && pattern.levels[1]?.is === 'rest'
    const isCovered = wanted === '+' ? level.is === 'one' : matchesLevel(level, wanted, principal)
    if (!isCovered) return false
  }
  return pattern.levels.length === filter.length
}
