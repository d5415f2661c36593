// The steps from the observed state of a cluster to the wanted one. The operator carries them out in order, and plans again after a change.

import type { JsonObject } from '../documents/manifest-node.ts'
import type { ClusterResource } from '../read-resource.ts'
import type { KubernetesObject, OwnerReference } from '../render/kubernetes-object.ts'
import { getServiceAccountName, renderCluster } from '../render/render-cluster.ts'
import { labelKeys, nameObjects, ownGroup } from '../resource/cluster-names.ts'
import { parseQuantity } from '../resource/resource-quantities.ts'
import { isCovered } from './covered-content.ts'
import {
  findLive,
  formatSettled,
  readPath,
  type LiveObject,
  type ObservedCluster,
  type ObservedPod,
} from './observed-cluster.ts'
import { planStatefulSet, templateHashAnnotation, type Blockage, type SetPlan } from './plan-stateful-set.ts'

export type PlanStep =
  /** Creates the Secrets of the administrator and of the operator, as far as they are missing. */
  | { readonly step: 'create-secrets'; readonly names: readonly string[] }
  | { readonly step: 'create'; readonly object: KubernetesObject }
  | { readonly step: 'apply'; readonly object: KubernetesObject }
  | { readonly step: 'delete'; readonly object: LiveObject }
  | { readonly step: 'grow-claim'; readonly name: string; readonly storage: string }
  /** Deletes the StatefulSet without its pods: it is created again with other claim templates, and adopts them. */
  | { readonly step: 'orphan'; readonly object: LiveObject }
  | { readonly step: 'drain'; readonly pod: ObservedPod }
  | { readonly step: 'cancel-drain'; readonly pod: ObservedPod }

export interface ClusterPlan {
  readonly steps: readonly PlanStep[]
  readonly set: SetPlan
  /** Expected SHA-256 of the files in the pods, by folder and name: `acl/acl.conf`. */
  readonly files: ReadonlyMap<string, string>
}

export interface PlanOptions {
  readonly owner: OwnerReference
  readonly namespace: string
  hashText(this: void, text: string): string
}

/** Annotation with the hash of the rendered object. */
export const appliedHashAnnotation = `${ownGroup}/applied-hash`

export function planCluster(cluster: ClusterResource, observed: ObservedCluster, options: PlanOptions): ClusterPlan {
  const names = nameObjects(cluster.metadata.name)
  const { hashText } = options
  const live = findLive(observed, 'StatefulSet', names.statefulSet)
  const rendered = renderCluster(cluster, options).filter(
    ({ kind }) => kind !== 'PodMonitor' || observed.hasPodMonitors,
  )
  const template = rendered.find(({ kind }) => kind === 'StatefulSet')
  const templateHash = hashText(JSON.stringify(readPath(template, 'spec', 'template')))
  const isTemplateChanged = live?.metadata.annotations?.[templateHashAnnotation] !== templateHash
  const taken = findTaken(live, observed)
  const storage = planStorage(template, live, observed)
  const { spec } = cluster
  const situation = { spec, live, isTemplateChanged, pods: observed.pods, nowMs: observed.nowMs }
  const planned = planStatefulSet(situation)
  const set = { ...planned, blockage: taken ?? storage.blockage ?? planned.blockage }
  const files = listExpectedFiles(cluster, rendered, hashText)
  if (taken !== undefined || spec.paused) return { steps: [], set, files }
  const secrets = [names.admin, names.operator].filter((name) => findLive(observed, 'Secret', name) === undefined)
  const objects = rendered.map((object) => {
    if (object.kind !== 'StatefulSet') return object
    return finishSet(object, { set, live, templateHash, keepsClaims: storage.blockage !== undefined })
  })
  const steps: PlanStep[] = [
    ...(secrets.length === 0 ? [] : [{ step: 'create-secrets' as const, names: secrets }]),
    ...storage.steps,
    ...(storage.steps.some(({ step }) => step === 'orphan') ? [] : planObjects(objects, cluster, observed, hashText)),
    ...planPruning(rendered, cluster, observed),
    ...(set.drain === undefined ? [] : [{ step: 'drain' as const, pod: set.drain }]),
    ...observed.pods
      .filter((pod) => pod.drain !== undefined && pod.isReady && !isGoing(pod, set))
      .map((pod) => ({ step: 'cancel-drain' as const, pod })),
  ]
  return { steps, set, files }
}

/** Whether the pod is drained because it is removed or replaced next. */
function isGoing(pod: ObservedPod, { drain, replicas, partition }: SetPlan): boolean {
  return pod.isTerminating || pod.uid === drain?.uid || pod.ordinal >= replicas || pod.ordinal === partition
}

/** A set that belongs to another resource, or to none, is never changed. */
function findTaken(live: LiveObject | undefined, { uid }: ObservedCluster): Blockage | undefined {
  if (live === undefined || isOwned(live, uid)) return undefined
  const message = `a StatefulSet ${live.metadata.name} exists that this resource does not own: give the resource another name`
  return { reason: 'NameTaken', message }
}

function isOwned({ metadata: { ownerReferences = [] } }: LiveObject, uid: string): boolean {
  return ownerReferences.some((owner) => owner.uid === uid)
}

interface FinishedSet {
  readonly set: SetPlan
  readonly live: LiveObject | undefined
  readonly templateHash: string
  readonly keepsClaims: boolean
}

function finishSet(object: KubernetesObject, { set, live, templateHash, keepsClaims }: FinishedSet): KubernetesObject {
  const { replicas, partition } = set
  const spec = object['spec'] as JsonObject
  const claims = keepsClaims ? readPath(live, 'spec', 'volumeClaimTemplates') : spec['volumeClaimTemplates']
  const changes = { replicas, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition } } }
  const annotations = {
    ...(object.metadata['annotations'] as JsonObject | undefined),
    [templateHashAnnotation]: templateHash,
  }
  const finished = {
    ...spec,
    ...changes,
    ...(claims === undefined ? {} : { volumeClaimTemplates: claims as JsonObject }),
  }
  return { ...object, metadata: { ...object.metadata, annotations }, spec: finished }
}

function planObjects(
  objects: readonly KubernetesObject[],
  cluster: ClusterResource,
  observed: ObservedCluster,
  hashText: (text: string) => string,
): PlanStep[] {
  const account = getServiceAccountName(cluster.spec.serviceAccountName, cluster.metadata.name)
  return objects.flatMap((object): PlanStep[] => {
    if (object.kind === 'ServiceAccount' && object.metadata.name === account) {
      return observed.hasServiceAccount ? [] : [{ step: 'create', object }]
    }
    const hash = hashText(JSON.stringify(object))
    const annotations = { ...(object.metadata['annotations'] as JsonObject | undefined), [appliedHashAnnotation]: hash }
    const applied = { ...object, metadata: { ...object.metadata, annotations } }
    const live = findLive(observed, object.kind, object.metadata.name)
    return live !== undefined && isInForce(applied, live, observed) ? [] : [{ step: 'apply', object: applied }]
  })
}

function isInForce(object: KubernetesObject, live: LiveObject, { settled }: ObservedCluster): boolean {
  const hash = readPath(object, 'metadata', 'annotations', appliedHashAnnotation)
  if (live.metadata.annotations?.[appliedHashAnnotation] !== hash) return false
  return settled.has(formatSettled(object.kind, object.metadata.name, live)) || isCovered(object, live)
}

const prunedKinds: ReadonlySet<string> = new Set([
  'ConfigMap',
  'NetworkPolicy',
  'PodDisruptionBudget',
  'PodMonitor',
  'Secret',
  'Service',
])

/** Objects of this resource that are not rendered any more. */
function planPruning(
  rendered: readonly KubernetesObject[],
  cluster: ClusterResource,
  observed: ObservedCluster,
): PlanStep[] {
  const { admin, operator } = nameObjects(cluster.metadata.name)
  const kept = new Set([
    `Secret/${admin}`,
    `Secret/${operator}`,
    ...rendered.map(({ kind, metadata }) => `${kind}/${metadata.name}`),
  ])
  return observed.objects
    .filter((object) => prunedKinds.has(object.kind) && isOwned(object, observed.uid))
    .filter(
      ({ metadata }) =>
        metadata.labels?.[labelKeys.own] === cluster.metadata.name && metadata.deletionTimestamp === undefined,
    )
    .filter(({ kind, metadata }) => !kept.has(`${kind}/${metadata.name}`))
    .map((object) => ({ step: 'delete', object }))
}

interface StoragePlan {
  readonly steps: readonly PlanStep[]
  readonly blockage: Blockage | undefined
}

function planStorage(
  rendered: KubernetesObject | undefined,
  live: LiveObject | undefined,
  observed: ObservedCluster,
): StoragePlan {
  const wanted = readClaimStorage(rendered)
  if (wanted === undefined) return { steps: [], blockage: undefined }
  const small = observed.claims.filter(({ storage }) => compareQuantities(storage, wanted) < 0)
  const fixed = small.filter(({ isExpandable }) => !isExpandable)
  if (fixed.length > 0) {
    const message = `the storage class of ${fixed.map(({ name }) => name).join(', ')} cannot enlarge volumes: set allowVolumeExpansion of the class`
    return { steps: [], blockage: { reason: 'StorageNotExpandable', message } }
  }
  const grown = small.map(({ name }) => ({ step: 'grow-claim' as const, name, storage: wanted }))
  const template = readClaimStorage(live)
  const isOutdated = live !== undefined && template !== undefined && compareQuantities(template, wanted) !== 0
  return { steps: [...grown, ...(isOutdated ? [{ step: 'orphan' as const, object: live }] : [])], blockage: undefined }
}

function readClaimStorage(set: unknown): string | undefined {
  const templates = readPath(set, 'spec', 'volumeClaimTemplates')
  const storage = Array.isArray(templates)
    ? readPath(templates[0], 'spec', 'resources', 'requests', 'storage')
    : undefined
  return typeof storage === 'string' ? storage : undefined
}

function compareQuantities(one: string, other: string): number {
  const [a = 0n, b = 0n] = [parseQuantity(one), parseQuantity(other)]
  return a < b ? -1 : a > b ? 1 : 0
}

/** Returns the files that brokers apply without a restart: from ConfigMaps and Secrets, by folder and name. */
function listExpectedFiles(
  cluster: ClusterResource,
  rendered: readonly KubernetesObject[],
  hashText: (text: string) => string,
): ReadonlyMap<string, string> {
  const names = nameObjects(cluster.metadata.name)
  const folders = new Map<string, string>([
    [names.config, 'config'],
    [names.acl, 'acl'],
    [names.mqtts, 'mqtts'],
    [names.wss, 'wss'],
  ])
  return new Map(
    rendered.flatMap(({ kind, metadata, ...content }) => {
      const folder = folders.get(metadata.name)
      if (folder === undefined || (kind !== 'ConfigMap' && kind !== 'Secret')) return []
      return Object.entries((content['data'] ?? {}) as Readonly<Record<string, string>>).map(([file, value]) => {
        const text = kind === 'Secret' ? Buffer.from(value, 'base64').toString('utf8') : value
        return [`${folder}/${file}`, hashText(text)] as const
      })
    }),
  )
}
