// A node whose pods run nothing: a pod is ready as soon as it exists, and gone as soon as it is deleted.

import { getObject, type KubeObject } from './kube-object.ts'
import type { StoreEvent } from './object-store.ts'
import { formatTime, type ResourceOperations } from './resource-operations.ts'

export interface InstantKubelet {
  /** Checks all pods again, after `isReady` has changed. */
  checkPods(): void
  stop(): void
}

/** Pods for which `isReady` returns false run, but are not ready. */
export function startInstantKubelet(
  operations: ResourceOperations,
  isReady: (pod: KubeObject) => boolean = () => true,
): InstantKubelet {
  const type = operations.getKind('Pod')
  const addresses = new Map<string, string>()
  const findAddress = ({ metadata: { uid } }: KubeObject): string => {
    const known = addresses.get(uid) ?? `127.1.${Math.floor(addresses.size / 250)}.${(addresses.size % 250) + 1}`
    addresses.set(uid, known)
    return known
  }
  const check = (pod: KubeObject): void => {
    const target = { type, namespace: pod.metadata.namespace ?? '', name: pod.metadata.name }
    const current = operations.store.get(type, target.namespace, target.name)
    if (current?.metadata.uid !== pod.metadata.uid) return
    if (current.metadata.deletionTimestamp !== undefined) {
      operations.delete(target, { gracePeriodSeconds: 0 })
      return
    }
    const manager = 'kubelet'
    operations.update(target, bindToNode, { manager })
    const lastTransitionTime = formatTime(new Date())
    const conditions = [{ type: 'Ready', status: isReady(current) ? 'True' : 'False', lastTransitionTime }]
    const status = { phase: 'Running', podIP: findAddress(current), conditions }
    operations.update(target, (object) => ({ ...object, status }), { manager, subresource: 'status' })
  }
  const handle = ({ resource, type: change, object }: StoreEvent): void => {
    const isChanged = change === 'ADDED' || object.metadata.deletionTimestamp !== undefined
    if (resource.kind === 'Pod' && change !== 'DELETED' && isChanged) setImmediate(check, object)
  }
  return { checkPods: () => operations.store.list(type).forEach(check), stop: operations.store.subscribe(handle) }
}

function bindToNode(pod: KubeObject): unknown {
  return { ...pod, spec: { ...getObject(pod, 'spec'), nodeName: 'node-1' } }
}
