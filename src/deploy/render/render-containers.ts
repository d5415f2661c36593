// The containers of the pods: the broker, and telegraf if it is configured.

import type { JsonObject } from '../documents/manifest-node.ts'
import type { ClusterResource } from '../read-resource.ts'
import { containerNames, directories, fileNames, nameObjects, ownVariables } from '../resource/cluster-names.ts'
import { listOpenPorts } from '../resource/open-ports.ts'
import { listOwnedSettings } from '../settings/owned-settings.ts'
import { omitEmpty, omitUndefined, type RenderContext } from './kubernetes-object.ts'
import { renderBrokerMounts, renderTelegrafMounts } from './render-volumes.ts'

const containerSecurity = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
}

/** The container of the broker. */
export function renderBrokerContainer({ cluster, namespace }: RenderContext): JsonObject {
  const { metadata, spec, settings } = cluster
  const template = spec.emqxTemplate
  const options = { name: metadata.name, namespace, template, hasAclFile: settings.aclFile !== undefined }
  return omitUndefined({
    name: containerNames.broker,
    image: spec.image,
    imagePullPolicy: spec.imagePullPolicy ?? choosePullPolicy(spec.image),
    args: [
      'start',
      '--config',
      `${directories.config}/${fileNames.config}`,
      ...listOwnedSettings(options).flatMap((setting) => ['--set', setting]),
    ],
    ports: [...listOpenPorts(template)].map(([name, containerPort]) => ({ name, containerPort, protocol: 'TCP' })),
    env: [...renderOwnVariables(cluster), ...(spec.env ?? []).map(omitUndefined)],
    resources: omitEmpty(spec.resources),
    volumeMounts: renderBrokerMounts(cluster),
    ...probes,
    lifecycle: {
      preStop: { exec: { command: ['godwit', 'ctl', 'drain', '--data', directories.data] } },
    },
    securityContext: containerSecurity,
  })
}

/** Returns the policy of an image without one: a tag that moves is pulled each time. The port of a registry is no tag. */
export function choosePullPolicy(image: string): 'Always' | 'IfNotPresent' {
  const [reference = '', digest] = image.split('@')
  const tag = reference.slice(reference.lastIndexOf('/') + 1).split(':')[1]
  if (tag === 'latest') return 'Always'
  return tag === undefined && digest === undefined ? 'Always' : 'IfNotPresent'
}

/** Kubernetes replaces $(POD_NAME) in the arguments. */
function renderOwnVariables({ metadata }: ClusterResource): readonly JsonObject[] {
  const { admin } = nameObjects(metadata.name)
  return [
    { name: ownVariables.podName, valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: ownVariables.podNamespace, valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
    { name: ownVariables.podAddress, valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    { name: ownVariables.adminUsername, valueFrom: { secretKeyRef: { name: admin, key: 'username' } } },
    { name: ownVariables.adminPassword, valueFrom: { secretKeyRef: { name: admin, key: 'password' } } },
  ]
}

const request = { path: '/status', port: 'api' }

/** A start may repair a store of many sessions, so it has 5 minutes. A broker that is busy for seconds is not restarted. */
const probes = {
  startupProbe: { httpGet: request, periodSeconds: 2, failureThreshold: 150, timeoutSeconds: 5 },
  readinessProbe: { httpGet: request, periodSeconds: 5, failureThreshold: 2, timeoutSeconds: 5 },
  livenessProbe: { httpGet: request, periodSeconds: 30, failureThreshold: 10, timeoutSeconds: 5 },
}

/** Returns the container with telegraf, if it is configured. */
export function renderTelegrafContainer({ spec }: ClusterResource): readonly JsonObject[] {
  const telegraf = spec.telegrafTemplate
  if (telegraf === undefined) return []
  return [
    omitUndefined({
      name: containerNames.telegraf,
      image: telegraf.image,
      imagePullPolicy: telegraf.imagePullPolicy ?? choosePullPolicy(telegraf.image),
      args: ['--config', `${directories.telegraf}/${fileNames.telegraf}`],
      resources: omitEmpty(telegraf.resources),
      volumeMounts: renderTelegrafMounts(),
      securityContext: containerSecurity,
    }),
  ]
}
