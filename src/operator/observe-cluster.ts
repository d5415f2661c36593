// Turns objects of the API server into what the plan needs.

import {
  readPath,
  type LiveObject,
  type ObservedClaim,
  type ObservedCluster,
  type ObservedDrain,
  type ObservedFiles,
  type ObservedPod,
} from '../deploy/index.ts'
import type { KubeResource } from '../kubernetes/index.ts'

/** What the operator remembers of a pod between two plans. */
export interface PodMemory {
  drain?: ObservedDrain | undefined
  files?: ObservedFiles | undefined
  version?: string
}

export interface ObserveSource {
  readonly resource: KubeResource
  readonly objects: readonly KubeResource[]
  readonly hasPodMonitors: boolean
  readonly hasServiceAccount: boolean
  readonly settled: ReadonlySet<string>
  readonly nowMs: number
  findPodMemory(uid: string): PodMemory | undefined
  isExpandable(storageClass: string): boolean
}

export function observeCluster(source: ObserveSource): ObservedCluster {
  const { resource, objects, hasPodMonitors, hasServiceAccount, settled, nowMs } = source
  const selectKind = (kind: string): KubeResource[] => objects.filter((object) => object['kind'] === kind)
  const pods = selectKind('Pod').map((pod) => observePod(pod, source.findPodMemory(pod.metadata.uid)))
  return {
    uid: resource.metadata.uid,
    objects: objects.filter(
      ({ kind }) => kind !== 'Pod' && kind !== 'PersistentVolumeClaim',
    ) as unknown as readonly LiveObject[],
    pods: pods.toSorted((a, b) => a.ordinal - b.ordinal),
    claims: selectKind('PersistentVolumeClaim').map((claim) => observeClaim(claim, source)),
    hasPodMonitors,
    hasServiceAccount,
    settled,
    nowMs,
    nowText: new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z'),
  }
}

function observePod(pod: KubeResource, memory: PodMemory | undefined): ObservedPod {
  const { name, uid, labels = {}, deletionTimestamp } = pod.metadata
  const conditions = readPath(pod, 'status', 'conditions')
  const isReady =
    Array.isArray(conditions) &&
    conditions.some((condition) => readPath(condition, 'type') === 'Ready' && readPath(condition, 'status') === 'True')
  return {
    ordinal: Number(/-(\d+)$/.exec(name)?.[1] ?? -1),
    name,
    uid,
    revision: labels['controller-revision-hash'] ?? '',
    isReady,
    isTerminating: deletionTimestamp !== undefined,
    drain: memory?.drain,
    files: memory?.files,
  }
}

function observeClaim(claim: KubeResource, source: ObserveSource): ObservedClaim {
  const storage = readPath(claim, 'spec', 'resources', 'requests', 'storage')
  const storageClass = readPath(claim, 'spec', 'storageClassName')
  return {
    name: claim.metadata.name,
    storage: typeof storage === 'string' ? storage : '0',
    isExpandable: typeof storageClass === 'string' && source.isExpandable(storageClass),
  }
}
