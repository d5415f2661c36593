// The StatefulSet and its pods.

import type { JsonObject } from '../documents/manifest-node.ts'
import type { ClusterResource } from '../read-resource.ts'
import { nameObjects, restartHashAnnotation, volumeNames } from '../resource/cluster-names.ts'
import { listOpenPorts } from '../resource/open-ports.ts'
import { renderBrokerContainer, renderTelegrafContainer } from './render-containers.ts'
import {
  createObject,
  listLabels,
  listOwnLabels,
  listSelectorLabels,
  omitEmpty,
  omitUndefined,
  sortKeys,
  type KubernetesObject,
  type RenderContext,
} from './kubernetes-object.ts'
import { renderVolumes } from './render-volumes.ts'

export interface StatefulSetOptions {
  readonly hashText: (text: string) => string
  readonly partition: number
}

/** Renders the StatefulSet N: one for the life of the cluster. */
export function renderStatefulSet(context: RenderContext, options: StatefulSetOptions): KubernetesObject {
  const { cluster } = context
  const { metadata, spec } = cluster
  const names = nameObjects(metadata.name)
  const content = {
    serviceName: names.headless,
    replicas: spec.replicas,
    podManagementPolicy: 'Parallel',
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: options.partition } },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    selector: { matchLabels: listSelectorLabels(cluster) },
    template: renderPodTemplate(context, options.hashText),
    volumeClaimTemplates: renderClaimTemplates(cluster),
  }
  const object = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: names.statefulSet }
  return createObject(context, object, { spec: omitUndefined(content) })
}

function renderPodTemplate(context: RenderContext, hashText: (text: string) => string): JsonObject {
  const { cluster } = context
  const { spec, settings } = cluster
  const annotations = { ...spec.annotations, [restartHashAnnotation]: hashText(settings.restartText) }
  return { metadata: { labels: listLabels(cluster), annotations: sortKeys(annotations) }, spec: renderPodSpec(context) }
}

function renderPodSpec(context: RenderContext): JsonObject {
  const { cluster } = context
  const { metadata, spec } = cluster
  const isPlaced = spec.affinity !== undefined || spec.topologySpreadConstraints !== undefined
  const serviceAccountName = (spec.serviceAccountName ?? '') === '' ? metadata.name : spec.serviceAccountName
  return omitUndefined({
    serviceAccountName,
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
    priorityClassName: omitBlank(spec.priorityClassName),
    nodeName: omitBlank(spec.nodeName),
    nodeSelector: omitEmpty(spec.nodeSelector),
    affinity: omitEmpty(spec.affinity),
    tolerations: omitEmpty(spec.tolerations?.map(omitUndefined)),
    topologySpreadConstraints: isPlaced ? omitEmpty(spec.topologySpreadConstraints) : renderSpread(cluster),
    imagePullSecrets: omitEmpty(spec.imagePullSecrets),
    securityContext: renderPodSecurityContext(cluster),
    initContainers: omitEmpty(spec.initContainers),
    containers: [renderBrokerContainer(context), ...renderTelegrafContainer(cluster), ...(spec.extraContainers ?? [])],
    volumes: renderVolumes(cluster),
  })
}

function omitBlank(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}

/** Without rules of the user, pods are spread over nodes and zones as well as possible. */
function renderSpread(cluster: ClusterResource): readonly JsonObject[] {
  return ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: listSelectorLabels(cluster) },
  }))
}

/** Below this number, a process without rights needs a parameter of the kernel to open a port. */
const firstUnprivilegedPort = 1_024
const unprivilegedPortSysctl = { name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }

/** The restricted profile of Kubernetes; fields of the user have priority. */
function renderPodSecurityContext({ spec }: ClusterResource): JsonObject {
  const written = spec.podSecurityContext
  const sysctls = [...(written?.sysctls ?? [])]
  const isLow = [...listOpenPorts(spec.emqxTemplate).values()].some((port) => port < firstUnprivilegedPort)
  if (isLow && !sysctls.some(({ name }) => name === unprivilegedPortSysctl.name)) sysctls.push(unprivilegedPortSysctl)
  return omitUndefined({
    runAsNonRoot: true,
    runAsUser: 1_000,
    runAsGroup: 1_000,
    fsGroup: 1_000,
    fsGroupChangePolicy: 'OnRootMismatch',
    seccompProfile: { type: 'RuntimeDefault' },
    ...written,
    sysctls: omitEmpty(sysctls),
  })
}

/** Labels of claims never change: those of the user would make the StatefulSet invalid when they change. */
function renderClaimTemplates(cluster: ClusterResource): readonly JsonObject[] | undefined {
  const { storage } = cluster.spec
  if (storage === undefined) return undefined
  const spec = omitUndefined({
    accessModes: storage.accessModes,
    selector: omitEmpty(storage.selector),
    resources: storage.resources,
    volumeName: omitBlank(storage.volumeName),
    storageClassName: storage.storageClassName,
    volumeMode: storage.volumeMode,
  })
  return [{ metadata: { name: volumeNames.data, labels: sortKeys(listOwnLabels(cluster)) }, spec }]
}
