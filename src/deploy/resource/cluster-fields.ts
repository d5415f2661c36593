// `spec` of GodwitCluster and EmqxEnterprise.

import {
  boolean,
  count,
  integer,
  object,
  optional,
  required,
  text,
  withDefault,
  type Draft,
  type ValueOf,
} from './field-types.ts'
import {
  affinity,
  annotationMap,
  containers,
  environmentVariables,
  extraVolumeMounts,
  extraVolumes,
  image,
  labelMap,
  networkPeers,
  podSecurityContext,
  pullPolicy,
  pullSecrets,
  resources,
  storage,
  tolerations,
  topologySpreadConstraints,
} from './kubernetes-fields.ts'
import { brokerTemplate } from './broker-template-fields.ts'
import { dnsName, prometheusDuration } from './text-forms.ts'

const maxConfigCharacters = 262_144

const telegrafTemplate = object({
  image: required(image, 'Image of the container.'),
  config: optional(text({ maxLength: maxConfigCharacters }), 'Configuration file of telegraf. It is required.', {
    spellings: ['conf'],
  }),
  imagePullPolicy: optional(pullPolicy, 'When the image is pulled.'),
  resources: optional(resources, 'Resources of the container.'),
})

export const clusterSpec = object({
  replicas: withDefault(integer({ min: 0 }), 3, 'Number of brokers.'),
  image: required(image, 'Image of the broker.'),
  imagePullPolicy: optional(
    pullPolicy,
    'When the image is pulled. Absent: Always if the tag is latest or absent, otherwise IfNotPresent. Once set, it does not change.',
  ),
  imagePullSecrets: optional(pullSecrets, 'Secrets for the registry of the images.'),
  serviceAccountName: optional(
    text({ form: dnsName, maxLength: 253 }),
    'ServiceAccount of the pods; default: the name of the resource.',
  ),
  resources: optional(resources, 'Resources of each broker.'),
  labels: optional(labelMap, 'Labels of all objects.'),
  annotations: optional(annotationMap, 'Annotations of the pods.'),
  affinity: optional(affinity, 'Rules about the nodes of the pods: nodeAffinity, podAffinity, podAntiAffinity.'),
  tolerations: optional(tolerations, 'Taints of nodes that the pods tolerate.', { spellings: ['toleRations'] }),
  nodeSelector: optional(labelMap, 'Labels that the nodes of the pods have.'),
  nodeName: optional(text({ form: dnsName, maxLength: 253 }), 'Node on which all pods run.'),
  env: optional(environmentVariables, 'Variables of the broker.'),
  storage: optional(storage, 'Claim for the data of each broker. Absent: data is lost with the pod.'),
  extraVolumes: optional(extraVolumes, 'Further volumes of the pods.'),
  extraVolumeMounts: optional(extraVolumeMounts, 'Mounts of these volumes in the container of the broker.'),
  emqxTemplate: optional(brokerTemplate, 'The broker: listener, access rules, plugins and modules.'),
  telegrafTemplate: optional(telegrafTemplate, 'A container with telegraf in each pod.'),
  config: optional(
    text({ maxLength: maxConfigCharacters }),
    'Settings of the broker, as in its configuration file. ${NAME} is a variable of env.',
  ),
  podSecurityContext: optional(podSecurityContext, 'Security context of the pods.', { spellings: ['securityContext'] }),
  topologySpreadConstraints: optional(
    topologySpreadConstraints,
    'How the pods are spread. Without it and affinity: over nodes and zones, if possible.',
  ),
  priorityClassName: optional(text({ form: dnsName, maxLength: 253 }), 'PriorityClass of the pods.'),
  terminationGracePeriodSeconds: withDefault(
    integer({ format: 'int64', min: 1, max: 86_400 }),
    60,
    'Time that a broker has to stop, in seconds.',
  ),
  extraContainers: optional(containers, 'Further containers of the pods.'),
  initContainers: optional(containers, 'Containers that run before the broker.'),
  podDisruptionBudget: optional(
    object({
      enabled: withDefault(boolean, true, 'Whether there is one, if there are several brokers.'),
      maxUnavailable: withDefault(count, 1, 'Number or percentage of brokers that an eviction may stop.'),
    }),
    'Limit of voluntary disruptions.',
  ),
  networkPolicy: optional(
    object({
      enabled: withDefault(boolean, false, 'Whether there is one.'),
      from: optional(networkPeers, 'Peers that reach the ports api and dashboard. Absent: none.'),
    }),
    'Limit of the connections to the pods.',
  ),
  podMonitor: optional(
    object({
      enabled: withDefault(boolean, false, 'Whether there is one.'),
      interval: withDefault(text({ form: prometheusDuration, maxLength: 16 }), '30s', 'Time between two scrapes.'),
      labels: optional(labelMap, 'Labels of the PodMonitor.'),
    }),
    'Metrics for the operator of Prometheus.',
  ),
  drain: optional(
    object({
      timeoutSeconds: withDefault(
        integer({ min: 1, max: 86_400 }),
        300,
        'Maximum time to drain a broker before it is removed, in seconds.',
      ),
      force: withDefault(boolean, false, 'Whether a broker is removed that could not be drained.'),
    }),
    'How brokers are drained before they are removed.',
  ),
  paused: withDefault(boolean, false, 'Whether the operator leaves the cluster as it is.'),
  backupOnDelete: withDefault(
    boolean,
    false,
    'Whether the data is backed up to the destinations of the GodwitBackup resources of the cluster before the resource is deleted.',
  ),
})

export type ClusterSpec = ValueOf<typeof clusterSpec>
export type ClusterSpecDraft = Draft<ClusterSpec>
