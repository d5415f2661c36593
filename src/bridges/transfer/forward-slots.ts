// The slot of each forward rule, from which the packet identifiers of its messages follow (see `forwarding.ts`). A slot stays the same
// when other rules change.
//
//   rules       x, y         y                z, y
//   slots      [x, y]  ->   [x, y]     ->    [x, y, z]     x is removed and keeps its slot: it may have messages without PUBREL
//
// So a redelivery after a change uses the identifier that the remote broker knows. If the slots differ from the order of the rules, a
// mark in the local session stores them across restarts.

import { createHash } from 'node:crypto'
import { bridgeMarksRoot } from '../../core/index.ts'
import type { TopicFilter } from '../../protocol/index.ts'
import type { ForwardRule } from '../rules/bridge-rules.ts'
import { maxForwards } from '../model/bridge-settings.ts'

export const slotsPrefix = `${bridgeMarksRoot}places/`
const separator = '-'
const keyCharacters = 12

export class ForwardSlots {
  /** By slot: its current or former rule. Undefined: no rules so far. */
  #keys: readonly string[] | undefined
  /** Stored in the local session; undefined: slots have the order of the rules. */
  mark: TopicFilter | undefined

  /** `kept`: subscriptions of the local session, possibly with a mark from before the restart. */
  assign(rules: readonly ForwardRule[], kept: Iterable<TopicFilter>): void {
    const wanted = createSlotKeys(rules)
    const keys = assignSlots(wanted, this.#keys ?? parseSlotKeys(kept))
    const isRuleOrder = keys.length === wanted.length && keys.every((key, slot) => key === wanted[slot])
    this.#keys = keys
    this.mark = isRuleOrder ? undefined : (`${slotsPrefix}${keys.join(separator)}` as TopicFilter)
  }

  /** Returns the slots of these rules, in order, which were assigned before. */
  findSlots(rules: readonly ForwardRule[]): readonly number[] {
    return createSlotKeys(rules).map((key) => this.#keys?.indexOf(key) ?? 0)
  }

  /** Maximum number of parts of an in-flight message. */
  get count(): number {
    return Math.max(1, this.#keys?.length ?? 0)
  }
}

/** New rules get further slots or, if there are none, those of removed rules. */
function assignSlots(wanted: readonly string[], known: readonly string[]): readonly string[] {
  const keys = [...known]
  for (const key of wanted) {
    if (keys.includes(key)) continue
    const isFull = keys.length >= maxForwards
    keys[isFull ? keys.findIndex((other) => !wanted.includes(other)) : keys.length] = key
  }
  return keys
}

/** Equal rules have different keys. */
function createSlotKeys(rules: readonly ForwardRule[]): readonly string[] {
  const seen = new Map<string, number>()
  return rules.map(({ localFilter, remoteTopic, prefix, suffix }) => {
    const text = JSON.stringify([localFilter, remoteTopic, prefix, suffix])
    const before = seen.get(text) ?? 0
    seen.set(text, before + 1)
    return createHash('sha256').update(`${before}${text}`).digest('hex').slice(0, keyCharacters)
  })
}

/** The API may subscribe the session to anything: invalid marks are ignored. */
function parseSlotKeys(kept: Iterable<TopicFilter>): readonly string[] {
  const mark = [...kept].find((filter) => filter.startsWith(slotsPrefix))
  const keys = mark?.slice(slotsPrefix.length).split(separator) ?? []
  return keys.length <= maxForwards ? keys : []
}
