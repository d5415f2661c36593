// Placeholders of configured topics that a client fills: `${clientid}`, `${username}` and others. A client chooses these values, so
// each of them is a part of one level, and never changes which topics the template stands for.

import { delayedTopicPrefix, filterPrefixes } from './topic-names.ts'

const dollar = '$'
/** Wildcards, the separator of levels, and control characters, NUL among them. */
// oxlint-disable-next-line no-control-regex -- these are what must not be in a topic
const unusable = /[+#/\u0000-\u001F\u007F-\u009F]/

/**
 * Returns the value if it may be inserted into a topic or a filter. Undefined if it is unknown or empty, contains `+`, `#`, `/` or a
 * control character, or begins with `$`, which would be a topic of the broker.
 */
export function toTopicPart(value: string | undefined): string | undefined {
  return value === undefined || value === '' || value.startsWith(dollar) || unusable.test(value) ? undefined : value
}

/** Values by the names of placeholders. */
export type TopicValues = Readonly<Record<string, string | undefined>>

/**
 * Replaces `${name}` by the values, in one pass: inserted values are not searched again. Placeholders without an entry in `values` are
 * text. Undefined if a value must not be inserted, or if the template hides the beginning of a topic of the broker in a value (`$${x}`).
 */
export function fillTopicTemplate(template: string, values: TopicValues): string | undefined {
  let isComplete = true
  const filled = template.replaceAll(/\$\{(\w+)\}/g, (whole, name: string) => {
    if (!Object.hasOwn(values, name)) return whole
    const value = toTopicPart(values[name])
    if (value === undefined) isComplete = false
    return value ?? ''
  })
  return isComplete && hasFixedRoot(template, filled) ? filled : undefined
}

/** Returns whether a result that begins with `$` has the first level of its template, which the administrator wrote. */
export function hasFixedRoot(template: string, filled: string): boolean {
  if (!filled.startsWith(dollar)) return true
  const prefix = [...filterPrefixes, delayedTopicPrefix].find((start) => template.startsWith(start))
  const [root = ''] = template.split('/', 1)
  if (filled.split('/', 1)[0] !== root) return false
  if (prefix === undefined) return true
  // The level after `$share/group/` and `$delayed/n/` is the first one of another topic.
  const levels = prefix === '$share/' || prefix === delayedTopicPrefix ? 2 : 1
  return hasFixedRoot(removeLevels(template, levels), removeLevels(filled, levels))
}

function removeLevels(text: string, levels: number): string {
  return text.split('/').slice(levels).join('/')
}
