// The controllers of the API server. Each handles changes of the store, in order, after the request that made them.

import type { ObjectStore, StoreEvent } from '../object-store.ts'
import type { ResourceOperations } from '../resource-operations.ts'
import { updateBudgets } from './disruption-budgets.ts'
import { collectGarbage } from './garbage-collector.ts'
import { reconcileStatefulSets } from './stateful-sets.ts'
import { bindClaim } from './volume-claims.ts'

export type Controller = (operations: ResourceOperations, event: StoreEvent) => void

const controllers: readonly Controller[] = [
  establishDefinition,
  collectGarbage,
  reconcileStatefulSets,
  updateBudgets,
  bindClaim,
]

export function startControllers(operations: ResourceOperations): { stop(): void } {
  const queue: StoreEvent[] = []
  let isScheduled = false
  const handleQueue = (): void => {
    isScheduled = false
    for (const event of queue.splice(0)) for (const handle of controllers) handle(operations, event)
  }
  const stop = subscribe(operations.store, (event) => {
    queue.push(event)
    if (isScheduled) return
    isScheduled = true
    setImmediate(handleQueue)
  })
  return { stop }
}

function subscribe(store: ObjectStore, listener: (event: StoreEvent) => void): () => void {
  return store.subscribe(listener)
}

function establishDefinition(operations: ResourceOperations, { type, resource, object }: StoreEvent): void {
  if (resource.kind !== 'CustomResourceDefinition' || type === 'DELETED') return
  const target = { type: resource, namespace: '', name: object.metadata.name }
  if (operations.store.get(resource, '', target.name) === undefined) return
  const conditions = ['NamesAccepted', 'Established'].map((name) => ({
    type: name,
    status: 'True',
    reason: 'InitialNamesAccepted',
    message: 'the initial names have been accepted',
    lastTransitionTime: object.metadata.creationTimestamp,
  }))
  const setStatus = (current: typeof object): unknown => ({ ...current, status: { conditions, storedVersions: [] } })
  operations.update(target, setStatus, { manager: 'kube-apiserver', subresource: 'status' })
}
