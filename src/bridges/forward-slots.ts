// Which place each forward has among the messages that become of one: the packet id of a part follows from it (see `forwarding.ts`),
// so it stays as it is whatever becomes of the other rules.
//
//   rules       x, y         y                z, y
//   places     [x, y]  ->   [x, y]     ->    [x, y, z]     x has been and keeps its place: it may have to be released still
//
// What is sent again after a change comes so under the id that the remote broker knows it by, and nothing else does. Where
// the places are not the order of the rules, a mark with the session here keeps them over a restart.

import { createHash } from 'node:crypto'
import { bridgeMarksRoot } from '../core/index.ts'
import type { TopicFilter } from '../protocol/index.ts'
import type { ForwardRule } from './rules.ts'
import { maxForwards } from './settings.ts'

export const slotsPrefix = `${bridgeMarksRoot}places/`
const between = '-'
const keyCharacters = 12

export class ForwardSlots {
  /** By place: the rule that has it, or had it. Undefined: no rules have been taken yet. */
  #keys: readonly string[] | undefined
  /** To be kept with the session here; undefined: the places are the order of the rules. */
  mark: TopicFilter | undefined

  /** `kept`: subscriptions of the session here, with a mark of an earlier life among them. */
  assign(rules: readonly ForwardRule[], kept: Iterable<TopicFilter>): void {
    const wanted = keysOf(rules)
    const keys = assignSlots(wanted, this.#keys ?? keysIn(kept))
    const isTheirOrder = keys.length === wanted.length && keys.every((key, place) => key === wanted[place])
    this.#keys = keys
    this.mark = isTheirOrder ? undefined : (`${slotsPrefix}${keys.join(between)}` as TopicFilter)
  }

  /** Of each of these rules, in their order. They have been taken. */
  of(rules: readonly ForwardRule[]): readonly number[] {
    return keysOf(rules).map((key) => this.#keys?.indexOf(key) ?? 0)
  }

  /** A message that is under way may have so many parts. */
  get count(): number {
    return Math.max(1, this.#keys?.length ?? 0)
  }
}

/** New rules come behind those that are known, or, where there is no room, in place of those that are gone. */
function assignSlots(wanted: readonly string[], known: readonly string[]): readonly string[] {
  const keys = [...known]
  for (const key of wanted) {
    if (keys.includes(key)) continue
    const isFull = keys.length >= maxForwards
    keys[isFull ? keys.findIndex((other) => !wanted.includes(other)) : keys.length] = key
  }
  return keys
}

/** Of equal rules each has its own. */
function keysOf(rules: readonly ForwardRule[]): readonly string[] {
  const seen = new Map<string, number>()
  return rules.map(({ localFilter, remoteTopic, prefix, suffix }) => {
    const text = JSON.stringify([localFilter, remoteTopic, prefix, suffix])
    const before = seen.get(text) ?? 0
    seen.set(text, before + 1)
    return createHash('sha256').update(`${before}${text}`).digest('hex').slice(0, keyCharacters)
  })
}

/** An operator may subscribe the session to anything: what was not written here says nothing. */
function keysIn(kept: Iterable<TopicFilter>): readonly string[] {
  const mark = [...kept].find((filter) => filter.startsWith(slotsPrefix))
  const keys = mark?.slice(slotsPrefix.length).split(between) ?? []
  return keys.length <= maxForwards ? keys : []
}
