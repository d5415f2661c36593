// Attributes that the broker adds to the entries of actions. Names that begin with an exclamation mark are for internal use.

import type { ActionEntry } from '../../sinks/index.ts'

const ruleAttribute = 'rule'

/** Returns the attribute that names the rule of an entry. */
export function toRuleAttribute(rule: string): readonly [string, string] {
  return [ruleAttribute, rule]
}

/** Returns the rule of an entry; undefined: an earlier version of Godwit stored the entry. */
export function findRule({ attributes }: ActionEntry): string | undefined {
  return attributes.find(([name]) => name === ruleAttribute)?.[1]
}

/** Marks an entry that a fallback has caused: it has no fallbacks itself. */
export const fallbackAttribute = ['!fallback', ''] as const

const depthAttribute = '!depth'

/** Returns the attribute of a result of several rules, one after the other; empty for others. */
export function toDepthAttributes(depth: number): ActionEntry['attributes'] {
  return depth > 1 ? [[depthAttribute, String(depth)]] : []
}

/** Returns the number of rules that have led to the entry. */
export function readDepth({ attributes }: ActionEntry): number {
  return Number(attributes.find(([name]) => name === depthAttribute)?.[1] ?? 1)
}

export function isOfFallback({ attributes }: ActionEntry): boolean {
  return attributes.some(([name]) => name === fallbackAttribute[0])
}

/** Returns the attributes without those for internal use, whose names begin with an exclamation mark. */
export function selectVisibleAttributes({ attributes }: ActionEntry): ActionEntry['attributes'] {
  return attributes.filter(([name]) => !name.startsWith('!'))
}
