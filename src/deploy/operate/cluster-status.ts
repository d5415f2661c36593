// The status of a cluster: what the operator writes to the resource.

import type { ClusterResource } from '../read-resource.ts'
import type { Fault } from '../documents/fault-list.ts'
import { labelKeys } from '../resource/cluster-names.ts'
import type { ObservedCluster } from './observed-cluster.ts'
import type { ClusterPlan } from './plan-cluster.ts'

export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime: string
  readonly lastUpdateTime: string
  readonly observedGeneration: number
}

export interface ClusterStatus {
  readonly observedGeneration: number
  readonly replicas: number
  readonly readyReplicas: number
  readonly updatedReplicas: number
  readonly selector: string
  readonly version: string
  readonly certificates: readonly { readonly listener: string; readonly notAfter: string }[]
  readonly conditions: readonly Condition[]
}

export interface StatusSource {
  readonly generation: number
  /** Undefined: the resource is invalid. */
  readonly cluster: ClusterResource | undefined
  readonly faults: readonly Fault[]
  readonly plan: ClusterPlan | undefined
  readonly observed: ObservedCluster
  readonly certificates: ClusterStatus['certificates']
  /** Version of the brokers; empty: unknown. */
  readonly version: string
  readonly name: string
  /** Revision that the StatefulSet controller creates pods of. */
  readonly updateRevision: unknown
  /** Conditions before. */
  readonly previous: readonly Condition[]
}

type Draft = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

/** Computes the status. The times of a condition that has not changed stay. */
export function computeStatus(source: StatusSource): ClusterStatus {
  const { observed, name, version, certificates, generation } = source
  const { pods } = observed
  return {
    observedGeneration: generation,
    replicas: pods.length,
    readyReplicas: pods.filter(({ isReady, isTerminating }) => isReady && !isTerminating).length,
    updatedReplicas: pods.filter(({ revision }) => revision === source.updateRevision).length,
    selector: `${labelKeys.own}=${name}`,
    version,
    certificates,
    conditions: listConditions(source).map((draft) => addTimes(draft, source)),
  }
}

function addTimes(draft: Draft, { previous, generation, observed: { nowText } }: StatusSource): Condition {
  const before = previous.find(({ type }) => type === draft.type)
  const isSame = before?.status === draft.status && before.reason === draft.reason && before.message === draft.message
  return {
    ...draft,
    observedGeneration: generation,
    lastTransitionTime: before?.status === draft.status ? before.lastTransitionTime : nowText,
    lastUpdateTime: isSame ? before.lastUpdateTime : nowText,
  }
}

function listConditions(source: StatusSource): Draft[] {
  const { cluster, faults, plan } = source
  const available = computeAvailable(source)
  const valid: Draft =
    faults.length === 0
      ? toCondition('SpecValid', true, 'Valid', 'the resource is valid')
      : toCondition('SpecValid', false, 'Invalid', faults.map(formatFaultText).join('\n').slice(0, 4_000))
  if (cluster === undefined || plan === undefined) return [available, valid]
  const { progress, blockage } = plan.set
  const isProgressing = progress.reason !== 'Complete' && !cluster.spec.paused
  const progressing = toCondition(
    'Progressing',
    isProgressing,
    cluster.spec.paused ? 'Paused' : progress.reason,
    progress.message,
  )
  const degraded =
    blockage === undefined
      ? toCondition('Degraded', false, 'AsExpected', '')
      : toCondition('Degraded', true, blockage.reason, blockage.message)
  const applied = computeApplied(source, plan)
  const isHealthy = available.status === 'True' && !isProgressing && blockage === undefined && applied.status === 'True'
  return [
    available,
    progressing,
    degraded,
    valid,
    applied,
    toCondition('Healthy', isHealthy, isHealthy ? 'Healthy' : 'NotHealthy', ''),
    ...listRemarks(cluster),
  ]
}

function computeAvailable({ cluster, observed }: StatusSource): Draft {
  const ready = observed.pods.filter(({ isReady, isTerminating }) => isReady && !isTerminating).length
  const wanted = cluster?.spec.replicas ?? observed.pods.length
  const isAvailable = wanted === 0 || ready > 0
  const reason = wanted === 0 ? 'ScaledToZero' : isAvailable ? 'PodsReady' : 'NoPodReady'
  return toCondition('Available', isAvailable, reason, `${ready} of ${wanted} pods are ready`)
}

/** Each ready pod has applied the files that were rendered. */
function computeApplied({ observed }: StatusSource, { files, steps }: ClusterPlan): Draft {
  const ready = observed.pods.filter(({ isReady, isTerminating }) => isReady && !isTerminating)
  const refused = ready.filter((pod) => (pod.files?.problems.length ?? 0) > 0)
  if (refused.length > 0) {
    const message = refused.map(({ name, files: own }) => `${name}: ${own?.problems.join('; ')}`).join('\n')
    return toCondition('ConfigApplied', false, 'Refused', message.slice(0, 4_000))
  }
  const waiting = ready.filter((pod) => [...files].some(([path, hash]) => pod.files?.hashes.get(path) !== hash))
  if (waiting.length > 0 || steps.some(({ step }) => step === 'apply')) {
    return toCondition(
      'ConfigApplied',
      false,
      'Pending',
      `waiting for ${waiting.map(({ name }) => name).join(', ') || 'the objects'}`,
    )
  }
  return toCondition('ConfigApplied', true, 'Applied', '')
}

function listRemarks({ spec }: ClusterResource): Draft[] {
  const hasStorage = spec.storage !== undefined
  return [
    toCondition(
      'StoragePersistent',
      hasStorage,
      hasStorage ? 'Claims' : 'NoStorage',
      hasStorage ? '' : 'sessions and messages are lost with their pod: set storage',
    ),
    ...((spec.replicas ?? 0) > 1
      ? [
          toCondition(
            'Clustered',
            false,
            'NotSupported',
            'each pod is a broker of its own: this version forms no clusters',
          ),
        ]
      : []),
    ...(spec.emqxTemplate?.license === undefined || spec.emqxTemplate.license === ''
      ? []
      : [toCondition('LicenseIgnored', true, 'NotNeeded', 'no license is needed: the field has no effect')]),
  ]
}

function toCondition(type: string, isTrue: boolean, reason: string, message: string): Draft {
  return { type, status: isTrue ? 'True' : 'False', reason, message }
}

function formatFaultText({ path, message, hint }: Fault): string {
  return `${path}: ${message}; ${hint}`
}
