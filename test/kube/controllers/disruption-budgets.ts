// Status of disruption budgets: the number of pods that may be evicted now.

import { getPath, type JsonObject, type KubeObject } from '../kube-object.ts'
import type { StoreEvent } from '../object-store.ts'
import type { ResourceOperations } from '../resource-operations.ts'
import { matchesSelector } from '../selectors.ts'
import { isPodReady } from './stateful-sets.ts'

export function updateBudgets(operations: ResourceOperations, { resource, object }: StoreEvent): void {
  if (resource.kind !== 'Pod' && resource.kind !== 'PodDisruptionBudget') return
  const type = operations.getKind('PodDisruptionBudget')
  const namespace = object.metadata.namespace ?? ''
  for (const budget of operations.store.list(type, namespace)) {
    const status = computeStatus(operations, budget)
    const setStatus = (current: KubeObject): unknown => ({ ...current, status })
    const target = { type, namespace, name: budget.metadata.name }
    operations.update(target, setStatus, { manager: 'kube-controller-manager', subresource: 'status' })
  }
}

function computeStatus(operations: ResourceOperations, budget: KubeObject): JsonObject {
  const pods = operations.store.list(operations.getKind('Pod'), budget.metadata.namespace)
  const selected = pods.filter(({ metadata }) =>
    matchesSelector(getPath(budget, '.spec.selector'), metadata.labels ?? {}),
  )
  const expectedPods = selected.length
  const currentHealthy = selected.filter(isPodReady).length
  const maxUnavailable = getPath(budget, '.spec.maxUnavailable')
  const minAvailable = getPath(budget, '.spec.minAvailable')
  const desiredHealthy =
    maxUnavailable === undefined
      ? toCount(minAvailable, expectedPods)
      : Math.max(0, expectedPods - toCount(maxUnavailable, expectedPods))
  return {
    observedGeneration: budget.metadata.generation,
    expectedPods,
    currentHealthy,
    desiredHealthy,
    disruptionsAllowed: Math.max(0, currentHealthy - desiredHealthy),
  }
}

/** A number, or a percentage of the pods, rounded up. */
function toCount(value: unknown, pods: number): number {
  if (typeof value === 'string') return Math.ceil((Number(value.replace('%', '')) / 100) * pods)
  return Number(value ?? 0)
}
