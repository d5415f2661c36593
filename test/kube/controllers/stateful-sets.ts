// Pods and claims of StatefulSets: policy Parallel, rolling update with a partition, claims that are kept.

import { createHash } from 'node:crypto'
import { getList, getObject, getPath, toText, type JsonObject, type KubeObject } from '../kube-object.ts'
import type { StoreEvent } from '../object-store.ts'
import type { ResourceOperations } from '../resource-operations.ts'
import { matchesSelector } from '../selectors.ts'

const manager = 'kube-controller-manager'
const revisionLabel = 'controller-revision-hash'
const controlled = ['StatefulSet', 'Pod', 'PersistentVolumeClaim']

export function reconcileStatefulSets(operations: ResourceOperations, { resource, object }: StoreEvent): void {
  if (!controlled.includes(resource.kind)) return
  const type = operations.getKind('StatefulSet')
  const namespace = object.metadata.namespace ?? ''
  const sets = operations.store
    .list(type, namespace)
    .filter(({ metadata }) =>
      resource.kind === 'StatefulSet'
        ? metadata.name === object.metadata.name
        : object.metadata.name.startsWith(metadata.name),
    )
  for (const set of sets) if (set.metadata.deletionTimestamp === undefined) reconcileSet(operations, set)
}

export function isPodReady(pod: KubeObject): boolean {
  const conditions = (getPath(pod, '.status.conditions') ?? []) as { type: string; status: string }[]
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}

function reconcileSet(operations: ResourceOperations, set: KubeObject): void {
  const updateRevision = storeRevision(operations, set)
  const currentRevision = toText(getPath(set, '.status.currentRevision')) || updateRevision
  adoptPods(operations, set)
  const replicas = Number(getPath(set, '.spec.replicas') ?? 1)
  for (let ordinal = 0; ordinal < replicas; ordinal += 1) {
    createClaims(operations, set, ordinal)
    const pod = getPod(operations, set, ordinal)
    if (pod === undefined)
      createPod(operations, set, ordinal, ordinal < getPartition(set) ? currentRevision : updateRevision)
    else if (isEnded(pod)) deletePod(operations, pod)
  }
  const extra = listPods(operations, set).filter((pod) => getOrdinal(pod) >= replicas)
  if (extra.length > 0) for (const pod of extra) deletePod(operations, pod)
  else updatePods(operations, set, updateRevision)
  writeStatus(operations, set, currentRevision, updateRevision)
}

function getPartition(set: KubeObject): number {
  return Number(getPath(set, '.spec.updateStrategy.rollingUpdate.partition') ?? 0)
}

/** Deletes the pod with the highest ordinal that has an old revision, if those above it are ready. */
function updatePods(operations: ResourceOperations, set: KubeObject, updateRevision: string): void {
  if (getPath(set, '.spec.updateStrategy.type') !== 'RollingUpdate') return
  const pods = listPods(operations, set).toSorted((a, b) => getOrdinal(b) - getOrdinal(a))
  for (const pod of pods.filter((pod) => getOrdinal(pod) >= getPartition(set))) {
    if (pod.metadata.labels?.[revisionLabel] !== updateRevision && pod.metadata.deletionTimestamp === undefined) {
      deletePod(operations, pod)
      return
    }
    if (!isPodReady(pod) || pod.metadata.deletionTimestamp !== undefined) return
  }
}

/** Stores the template as a `ControllerRevision`, so that a pod below the partition is created as it was. */
function storeRevision(operations: ResourceOperations, set: KubeObject): string {
  const template = getPath(set, '.spec.template')
  const hash = createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, 10)
  const name = `${set.metadata.name}-${hash}`
  const type = operations.getKind('ControllerRevision')
  const namespace = set.metadata.namespace ?? ''
  if (operations.store.get(type, namespace, name) === undefined) {
    const metadata = { name, ownerReferences: [createOwnerReference(set)] }
    operations.create(
      type,
      namespace,
      { metadata, revision: operations.store.revision, data: { spec: { template } } },
      { manager },
    )
  }
  return name
}

function createOwnerReference({ apiVersion, kind, metadata: { name, uid } }: KubeObject): JsonObject {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

function listPods(operations: ResourceOperations, set: KubeObject): KubeObject[] {
  const pods = operations.store.list(operations.getKind('Pod'), set.metadata.namespace)
  return pods.filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === set.metadata.uid))
}

function getPod(operations: ResourceOperations, set: KubeObject, ordinal: number): KubeObject | undefined {
  return operations.store.get(
    operations.getKind('Pod'),
    set.metadata.namespace ?? '',
    `${set.metadata.name}-${ordinal}`,
  )
}

function getOrdinal({ metadata }: KubeObject): number {
  return Number(/-(\d+)$/.exec(metadata.name)?.[1])
}

function isEnded(pod: KubeObject): boolean {
  return ['Failed', 'Succeeded'].includes(String(getPath(pod, '.status.phase')))
}

/** Pods of a set that was deleted without them get the new one as their owner. */
function adoptPods(operations: ResourceOperations, set: KubeObject): void {
  const type = operations.getKind('Pod')
  const pattern = new RegExp(String.raw`^${set.metadata.name}-\d+$`)
  for (const pod of operations.store.list(type, set.metadata.namespace)) {
    const { name, labels = {}, ownerReferences = [], deletionTimestamp } = pod.metadata
    const isOrphan = ownerReferences.length === 0 && deletionTimestamp === undefined && pattern.test(name)
    if (!isOrphan || !matchesSelector(getPath(set, '.spec.selector'), labels)) continue
    const adopt = (current: KubeObject): unknown => ({
      ...current,
      metadata: { ...current.metadata, ownerReferences: [createOwnerReference(set)] },
    })
    operations.update({ type, namespace: set.metadata.namespace ?? '', name }, adopt, { manager })
  }
}

function createClaims(operations: ResourceOperations, set: KubeObject, ordinal: number): void {
  const type = operations.getKind('PersistentVolumeClaim')
  const namespace = set.metadata.namespace ?? ''
  for (const template of getList(getObject(set, 'spec'), 'volumeClaimTemplates')) {
    const name = `${String(getPath(template, '.metadata.name'))}-${set.metadata.name}-${ordinal}`
    if (operations.store.get(type, namespace, name) !== undefined) continue
    const labels = {
      ...(getObject(template, 'metadata')['labels'] as JsonObject),
      ...(getPath(set, '.spec.selector.matchLabels') as JsonObject),
    }
    const annotations = getPath(template, '.metadata.annotations')
    const metadata = { name, labels, ...(annotations === undefined ? {} : { annotations }) }
    operations.create(type, namespace, { metadata, spec: template['spec'] }, { manager })
  }
}

function createPod(operations: ResourceOperations, set: KubeObject, ordinal: number, revision: string): void {
  const namespace = set.metadata.namespace ?? ''
  const stored = operations.store.get(operations.getKind('ControllerRevision'), namespace, revision)
  const template = structuredClone(
    getPath(stored, '.data.spec.template') ?? getPath(set, '.spec.template'),
  ) as JsonObject
  const name = `${set.metadata.name}-${ordinal}`
  const metadata = getObject(template, 'metadata')
  const spec = getObject(template, 'spec')
  const claims = getList(getObject(set, 'spec'), 'volumeClaimTemplates').map((claim) => {
    const volume = String(getPath(claim, '.metadata.name'))
    return { name: volume, persistentVolumeClaim: { claimName: `${volume}-${name}` } }
  })
  const pod = {
    metadata: {
      ...metadata,
      name,
      labels: {
        ...getObject(metadata, 'labels'),
        'statefulset.kubernetes.io/pod-name': name,
        'apps.kubernetes.io/pod-index': String(ordinal),
        [revisionLabel]: revision,
      },
      ownerReferences: [createOwnerReference(set)],
    },
    spec: {
      ...spec,
      hostname: name,
      subdomain: getPath(set, '.spec.serviceName'),
      volumes: [...getList(spec, 'volumes'), ...claims],
    },
  }
  operations.create(operations.getKind('Pod'), namespace, pod, { manager })
}

function deletePod(operations: ResourceOperations, pod: KubeObject): void {
  if (pod.metadata.deletionTimestamp !== undefined) return
  const { name, namespace = '' } = pod.metadata
  operations.delete({ type: operations.getKind('Pod'), namespace, name })
}

function writeStatus(
  operations: ResourceOperations,
  set: KubeObject,
  currentRevision: string,
  updateRevision: string,
): void {
  const type = operations.getKind('StatefulSet')
  const { name, namespace = '' } = set.metadata
  const pods = listPods(operations, set).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const count = (isCounted: (pod: KubeObject) => boolean): number => pods.filter(isCounted).length
  const readyReplicas = count(isPodReady)
  const updatedReplicas = count(({ metadata }) => metadata.labels?.[revisionLabel] === updateRevision)
  const replicas = Number(getPath(set, '.spec.replicas') ?? 1)
  const isComplete = updatedReplicas === replicas && readyReplicas === replicas
  const status = {
    observedGeneration: set.metadata.generation,
    replicas: pods.length,
    readyReplicas,
    availableReplicas: readyReplicas,
    updatedReplicas,
    currentReplicas: count(({ metadata }) => metadata.labels?.[revisionLabel] === currentRevision),
    currentRevision: isComplete ? updateRevision : currentRevision,
    updateRevision,
    collisionCount: 0,
  }
  if (operations.store.get(type, namespace, name) === undefined) return
  operations.update({ type, namespace, name }, (current) => ({ ...current, status }), {
    manager,
    subresource: 'status',
  })
}
