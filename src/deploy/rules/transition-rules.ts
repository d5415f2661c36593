// Rules about changes of a resource.

import type { ClusterSpecDraft } from '../resource/cluster-fields.ts'
import type { RestoreSpecDraft } from '../resource/backup-fields.ts'
import { parseQuantity } from '../resource/resource-quantities.ts'
import { defineTransition, noViolation, ensure, type TransitionRule } from './rule.ts'

const storageSize = ['storage', 'resources', 'requests', 'storage'] as const
const writeSize = (self: string): string => `quantity(string(${self}.storage.resources.requests['storage']))`
const writeHasSize = (self: string): string =>
  `has(${self}.storage) && has(${self}.storage.resources) && has(${self}.storage.resources.requests) && 'storage' in ${self}.storage.resources.requests`
const writeIsSame = (field: string): string =>
  `has(self.storage.${field}) == has(oldSelf.storage.${field}) && (!has(self.storage.${field}) || self.storage.${field} == oldSelf.storage.${field})`
const fixedFields = ['accessModes', 'selector', 'volumeName', 'storageClassName', 'volumeMode'] as const

function readSize(storage: ClusterSpecDraft['storage']): bigint | undefined {
  const requests = storage?.resources?.requests ?? {}
  const size = Object.hasOwn(requests, 'storage') ? requests['storage'] : undefined
  return size === undefined ? undefined : parseQuantity(size)
}

export const clusterTransitions: readonly TransitionRule[] = [
  defineTransition<ClusterSpecDraft>({
    at: 'spec',
    cel: '!has(oldSelf.imagePullPolicy) || (has(self.imagePullPolicy) && self.imagePullPolicy == oldSelf.imagePullPolicy)',
    message: 'imagePullPolicy does not change once it is set',
    hint: 'restore the old value',
    check: ({ imagePullPolicy: next }, { imagePullPolicy: previous }) =>
      ensure(previous === undefined || next === previous, ['imagePullPolicy']),
  }),
  defineTransition<ClusterSpecDraft>({
    at: 'spec',
    cel: 'has(self.storage) == has(oldSelf.storage)',
    message: 'storage is neither added nor removed',
    hint: 'restore the old value; to move the data, create another cluster and restore a backup',
    check: ({ storage: next }, { storage: previous }) =>
      ensure((next === undefined) === (previous === undefined), ['storage']),
  }),
  defineTransition<ClusterSpecDraft>({
    at: 'spec',
    cel: `!has(self.storage) || !has(oldSelf.storage) || (${fixedFields.map(writeIsSame).join(' && ')})`,
    message: 'of the claim only the size changes',
    hint: 'restore the old value; to move the data, create another cluster and restore a backup',
    check({ storage: next }, { storage: previous }) {
      if (next === undefined || previous === undefined) return noViolation
      return fixedFields.flatMap((field) => ensure(equalsJson(next[field], previous[field]), ['storage', field]))
    },
  }),
  defineTransition<ClusterSpecDraft>({
    at: 'spec',
    cel: `!(${writeHasSize('self')} && ${writeHasSize('oldSelf')}) || ${writeSize('self')}.compareTo(${writeSize('oldSelf')}) >= 0`,
    message: 'the size of the claim only grows',
    hint: 'restore the old size, or set a larger one',
    check({ storage: next }, { storage: previous }) {
      const [size, old] = [readSize(next), readSize(previous)]
      return ensure(size === undefined || old === undefined || size >= old, storageSize)
    },
  }),
]

export const restoreTransitions: readonly TransitionRule[] = [
  defineTransition<RestoreSpecDraft>({
    at: 'spec',
    cel: 'self == oldSelf',
    message: 'a restore does not change: it runs once',
    hint: 'create another GodwitRestore',
    check: (next, previous) => ensure(equalsJson(next, previous), []),
  }),
]

/** Returns whether both are the same JSON; the order of keys does not matter. */
function equalsJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [keys, others] = [Object.keys(a), Object.keys(b)]
  const [one, other] = [a as Readonly<Record<string, unknown>>, b as Readonly<Record<string, unknown>>]
  return (
    keys.length === others.length && keys.every((key) => Object.hasOwn(other, key) && equalsJson(one[key], other[key]))
  )
}
