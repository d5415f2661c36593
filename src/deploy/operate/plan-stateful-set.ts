// Steps for the StatefulSet: pods are replaced and removed one at a time, from the top ordinal, after their clients have moved.
//
//   replicas    up: at once.   down: drain the top pod, lower by one, wait until it is gone, repeat.
//   partition   a new template is applied with a partition above all pods. Then, from the top: drain the pod, lower the partition to it, wait until
//               it is ready. A revision that never gets ready stops at one pod, and a corrected one goes on there.

import type { ClusterResource } from '../read-resource.ts'
import { labelKeys } from '../resource/cluster-names.ts'
import { readPath, type LiveObject, type ObservedPod } from './observed-cluster.ts'

export type ProgressReason =
  | 'Creating'
  | 'Scaling'
  | 'ScalingDown'
  | 'Upgrading'
  | 'Updating'
  | 'Recovering'
  | 'Complete'
  | 'Paused'

export interface Blockage {
  readonly reason: 'DrainTimeout' | 'PodsNotReady' | 'StorageNotExpandable' | 'NameTaken'
  readonly message: string
}

export interface SetPlan {
  readonly replicas: number
  readonly partition: number
  /** The pod whose clients must move before the next step. */
  readonly drain: ObservedPod | undefined
  readonly progress: { readonly reason: ProgressReason; readonly message: string }
  readonly blockage: Blockage | undefined
}

export interface SetSituation {
  readonly spec: Pick<ClusterResource['spec'], 'replicas' | 'drain' | 'image'>
  readonly live: LiveObject | undefined
  /** The rendered template differs from the live one. */
  readonly isTemplateChanged: boolean
  readonly pods: readonly ObservedPod[]
  readonly nowMs: number
}

/** Annotation of the StatefulSet with the hash of its rendered template. */
export const templateHashAnnotation = `${labelKeys.own.replace('/instance', '')}/template-hash`

export function planStatefulSet(situation: SetSituation): SetPlan {
  const { spec, live, pods, isTemplateChanged } = situation
  const wanted = spec.replicas ?? 0
  const highest = pods.reduce((count, { ordinal }) => Math.max(count, ordinal + 1), 0)
  const plan = { drain: undefined, blockage: undefined }
  if (live === undefined) {
    // The set was removed without its pods, such as for larger volumes: they are adopted as they are.
    const reason = highest === 0 ? 'Creating' : 'Recovering'
    const message = `0 of ${wanted} pods are ready`
    return { ...plan, replicas: Math.max(wanted, highest), partition: highest, progress: { reason, message } }
  }
  const current = Number(readPath(live, 'spec', 'replicas') ?? 0)
  const partition = Number(readPath(live, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0)
  if (isTemplateChanged) {
    const isImageChanged = spec.image !== readImage(live)
    const progress = {
      reason: isImageChanged ? ('Upgrading' as const) : ('Updating' as const),
      message: `${current} pods have an earlier revision`,
    }
    return { ...plan, replicas: Math.max(wanted, current), partition: current, progress }
  }
  if (wanted < current) return planRemoval(situation, { current, partition })
  const update = planUpdate(situation, { current, partition })
  return wanted > current ? { ...update, replicas: wanted } : update
}

function readImage(live: LiveObject): unknown {
  const containers = readPath(live, 'spec', 'template', 'spec', 'containers')
  return Array.isArray(containers) ? readPath(containers[0], 'image') : undefined
}

interface SetState {
  readonly current: number
  readonly partition: number
}

function planRemoval(situation: SetSituation, { current, partition }: SetState): SetPlan {
  const { pods, spec } = situation
  const progress = { reason: 'ScalingDown' as const, message: `${current} pods of ${spec.replicas} remain` }
  const stay = { replicas: current, partition, drain: undefined, progress, blockage: undefined }
  if (pods.some(({ ordinal }) => ordinal >= current)) return stay
  const top = pods.find(({ ordinal }) => ordinal === current - 1)
  if (top?.isTerminating === true) return stay
  const lowered = { ...stay, replicas: current - 1, partition: Math.min(partition, current - 1) }
  if (top === undefined || !top.isReady) return lowered
  const drain = checkDrain(top, situation)
  if (drain === 'drained') return lowered
  return { ...stay, drain: top, blockage: drain }
}

function planUpdate(situation: SetSituation, state: SetState): SetPlan {
  const { live, pods, spec } = situation
  const { current, partition } = state
  const ready = pods.filter(({ isReady, isTerminating }) => isReady && !isTerminating).length
  const complete = { replicas: current, drain: undefined, blockage: undefined }
  const isObserved = readPath(live, 'status', 'observedGeneration') === live?.metadata.generation
  const revision = readPath(live, 'status', 'updateRevision')
  const wait = (reason: ProgressReason, message: string): SetPlan => ({
    ...complete,
    partition,
    progress: { reason, message },
  })
  const countReady = `${ready} of ${spec.replicas} pods are ready`
  if (!isObserved) return wait('Updating', 'waiting for the StatefulSet controller')
  for (let ordinal = current - 1; ordinal >= 0; ordinal -= 1) {
    const pod = pods.find((candidate) => candidate.ordinal === ordinal)
    if (pod === undefined || pod.isTerminating)
      return wait(readPath(live, 'status', 'readyReplicas') === 0 ? 'Creating' : 'Scaling', countReady)
    if (pod.revision !== revision)
      return ordinal >= partition ? wait('Updating', countReady) : planReplacement(situation, state, pod)
    const hasOlder = pods.some((other) => other.revision !== revision)
    if (!pod.isReady && hasOlder) return wait('Updating', `pod ${pod.name} of the new revision is not ready`)
  }
  if (ready < current) return wait(partition === 0 && ready > 0 ? 'Recovering' : 'Creating', countReady)
  return { ...complete, partition: 0, progress: { reason: 'Complete', message: countReady } }
}

/** Replaces one pod by one of the new revision. */
function planReplacement(situation: SetSituation, { current, partition }: SetState, pod: ObservedPod): SetPlan {
  const { pods, spec } = situation
  const progress = { reason: 'Updating' as const, message: `pod ${pod.name} is replaced next` }
  const stay = { replicas: current, partition, drain: undefined, progress, blockage: undefined }
  const lowered = { ...stay, partition: pod.ordinal }
  if (!pod.isReady) return lowered
  const others = pods.filter((other) => other !== pod && (!other.isReady || other.isTerminating))
  if (others.length > 0 && spec.drain?.force !== true) {
    const message = `pod ${pod.name} is not replaced while ${others.map(({ name }) => name).join(', ')} is not ready`
    return { ...stay, blockage: { reason: 'PodsNotReady', message } }
  }
  const drain = checkDrain(pod, situation)
  return drain === 'drained' ? lowered : { ...stay, drain: pod, blockage: drain }
}

const defaultTimeoutSeconds = 300

/** Returns a blockage if the clients have not left in time; undefined: they are leaving. */
function checkDrain({ name, drain }: ObservedPod, { spec, nowMs }: SetSituation): 'drained' | Blockage | undefined {
  if (drain === undefined) return undefined
  if (drain.connected === 0) return 'drained'
  const timeoutSeconds = spec.drain?.timeoutSeconds ?? defaultTimeoutSeconds
  if (nowMs - drain.startedAtMs <= timeoutSeconds * 1_000) return undefined
  if (spec.drain?.force === true) return 'drained'
  const clients = drain.connected === undefined ? 'does not respond' : `has ${drain.connected} clients`
  const message = `pod ${name} ${clients} after ${timeoutSeconds} s: disconnect them, or set drain.force`
  return { reason: 'DrainTimeout', message }
}
