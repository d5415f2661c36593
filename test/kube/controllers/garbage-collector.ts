// Deletes objects whose owners are gone, and serves the deletion policies `Orphan` and `Foreground`.

import type { KubeObject } from '../kube-object.ts'
import type { StoreEvent } from '../object-store.ts'
import type { ResourceOperations, Target } from '../resource-operations.ts'
import type { ResourceType } from '../resource-types.ts'

const manager = 'generic-garbage-collector'

interface Dependent {
  readonly type: ResourceType
  readonly object: KubeObject
}

export function collectGarbage(operations: ResourceOperations, { type, resource, object }: StoreEvent): void {
  if (type === 'DELETED') {
    for (const dependent of findDependents(operations, object)) collectDependent(operations, dependent)
    for (const owner of findWaitingOwners(operations, object)) releaseOwner(operations, owner.type, owner.object)
    return
  }
  const { finalizers = [], deletionTimestamp } = object.metadata
  if (type === 'ADDED' && (object.metadata.ownerReferences ?? []).length > 0)
    collectDependent(operations, { type: resource, object })
  if (deletionTimestamp === undefined) return
  if (finalizers.includes('orphan')) {
    for (const dependent of findDependents(operations, object)) removeOwner(operations, dependent, object.metadata.uid)
    removeFinalizer(operations, toTarget(resource, object), 'orphan')
  }
  if (finalizers.includes('foregroundDeletion')) {
    for (const dependent of findDependents(operations, object)) deleteObject(operations, dependent)
    releaseOwner(operations, resource, object)
  }
}

function findDependents(operations: ResourceOperations, owner: KubeObject): Dependent[] {
  const { uid, namespace } = owner.metadata
  return operations.types.flatMap((type) =>
    operations.store
      .list(type, namespace)
      .filter(({ metadata }) => metadata.ownerReferences?.some((reference) => reference.uid === uid))
      .map((object) => ({ type, object })),
  )
}

function collectDependent(operations: ResourceOperations, { type, object }: Dependent): void {
  const current = operations.store.get(type, object.metadata.namespace ?? '', object.metadata.name)
  const references = current?.metadata.ownerReferences ?? []
  if (current === undefined || references.length === 0) return
  const hasOwner = references.some((reference) => {
    const ownerType = operations.types.find(({ kind }) => kind === reference.kind)
    const namespace = ownerType?.isNamespaced === true ? (current.metadata.namespace ?? '') : ''
    return (
      ownerType !== undefined &&
      operations.store.get(ownerType, namespace, reference.name)?.metadata.uid === reference.uid
    )
  })
  if (!hasOwner) deleteObject(operations, { type, object: current })
}

function deleteObject(operations: ResourceOperations, { type, object }: Dependent): void {
  const { metadata } = object
  if (metadata.deletionTimestamp !== undefined) return
  if (operations.store.get(type, metadata.namespace ?? '', metadata.name)?.metadata.uid !== metadata.uid) return
  operations.delete(toTarget(type, object))
}

function findWaitingOwners(operations: ResourceOperations, dependent: KubeObject): Dependent[] {
  return (dependent.metadata.ownerReferences ?? []).flatMap(({ kind, name, uid }) => {
    const type = operations.types.find((known) => known.kind === kind)
    if (type === undefined) return []
    const object = operations.store.get(type, dependent.metadata.namespace ?? '', name)
    return object?.metadata.uid === uid ? [{ type, object }] : []
  })
}

function releaseOwner(operations: ResourceOperations, type: ResourceType, owner: KubeObject): void {
  if (owner.metadata.finalizers?.includes('foregroundDeletion') !== true) return
  if (findDependents(operations, owner).length > 0) return
  removeFinalizer(operations, toTarget(type, owner), 'foregroundDeletion')
}

function removeFinalizer(operations: ResourceOperations, target: Target, name: string): void {
  const { type, namespace } = target
  if (operations.store.get(type, namespace, target.name)?.metadata.finalizers?.includes(name) !== true) return
  const remove = (current: KubeObject): unknown => ({
    ...current,
    metadata: {
      ...current.metadata,
      finalizers: current.metadata.finalizers?.filter((finalizer) => finalizer !== name),
    },
  })
  operations.update(target, remove, { manager })
}

function removeOwner(operations: ResourceOperations, { type, object }: Dependent, uid: string): void {
  const remove = (current: KubeObject): unknown => ({
    ...current,
    metadata: {
      ...current.metadata,
      ownerReferences: current.metadata.ownerReferences?.filter((owner) => owner.uid !== uid),
    },
  })
  operations.update(toTarget(type, object), remove, { manager })
}

function toTarget(type: ResourceType, { metadata }: KubeObject): Target {
  return { type, namespace: metadata.namespace ?? '', name: metadata.name }
}
