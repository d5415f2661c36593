// Runs rules on a value that was read.

import type { FaultList } from '../documents/fault-list.ts'
import type { ManifestPath } from '../documents/manifest-node.ts'
import type { Rule, TransitionRule, Violation } from './rule.ts'

interface Place {
  readonly path: ManifestPath
  readonly value: unknown
}

/** Checks every object that a rule is about. */
export function checkRules(rules: readonly Rule[], resource: unknown, list: FaultList): void {
  for (const rule of rules) {
    for (const { path, value } of findPlaces(rule.at, resource)) {
      const check = rule.check as (value: unknown) => readonly Violation[]
      report(rule, path, check(value), list)
    }
  }
}

/** Checks a change. An object that is new or gone is no change of it. */
export function checkTransitions(
  rules: readonly TransitionRule[],
  next: unknown,
  previous: unknown,
  list: FaultList,
): void {
  for (const rule of rules) {
    const [before] = findPlaces(rule.at, previous)
    const [after] = findPlaces(rule.at, next)
    if (before === undefined || after === undefined) continue
    const check = rule.check as (value: unknown, previous: unknown) => readonly Violation[]
    report(rule, after.path, check(after.value, before.value), list)
  }
}

function report(
  { message, hint }: Pick<Rule, 'message' | 'hint'>,
  path: ManifestPath,
  violations: readonly Violation[],
  list: FaultList,
): void {
  for (const violation of violations) list.addFault([...path, ...violation.path], violation.message ?? message, hint)
}

/** Returns the objects at `spec.env[]`: those that exist and could be read. */
function findPlaces(at: string, resource: unknown): readonly Place[] {
  let places: Place[] = [{ path: [], value: resource }]
  for (const part of at === '' ? [] : at.split('.')) {
    const name = part.replace('[]', '')
    places = places.flatMap(({ path, value }) =>
      selectBelow([...path, name], (value as Record<string, unknown>)[name], part),
    )
  }
  return places
}

function selectBelow(path: ManifestPath, value: unknown, part: string): Place[] {
  if (!part.endsWith('[]')) return isObject(value) ? [{ path, value }] : []
  const items: readonly unknown[] = Array.isArray(value) ? value : []
  return items.flatMap((item, index) => (isObject(item) ? [{ path: [...path, index], value: item }] : []))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
