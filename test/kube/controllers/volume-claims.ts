// Binds claims, and enlarges volumes whose claim has grown.

import { getPath, isEqual, type KubeObject } from '../kube-object.ts'
import type { StoreEvent } from '../object-store.ts'
import type { ResourceOperations } from '../resource-operations.ts'

export function bindClaim(operations: ResourceOperations, { type, resource, object }: StoreEvent): void {
  if (resource.kind !== 'PersistentVolumeClaim' || type === 'DELETED') return
  const { name, namespace = '', uid } = object.metadata
  const current = operations.store.get(resource, namespace, name)
  if (current?.metadata.uid !== uid) return
  const capacity = { storage: getPath(current, '.spec.resources.requests.storage') }
  const status = { phase: 'Bound', accessModes: getPath(current, '.spec.accessModes'), capacity }
  if (isEqual(current['status'], status)) return
  const setStatus = (claim: KubeObject): unknown => ({ ...claim, status })
  operations.update({ type: resource, namespace, name }, setStatus, { manager: 'volume-binder', subresource: 'status' })
}
