// The types of objects that the operator watches and writes.

import { resourceKinds } from '../deploy/index.ts'
import type { ResourceKind } from '../kubernetes/index.ts'

function defineKind(apiVersion: string, plural: string, kind: string): ResourceKind {
  const [version = '', group = ''] = apiVersion.split('/').toReversed()
  return { group, version, plural, kind }
}

/** Objects of a cluster, by kind. */
export const objectKinds: Readonly<Record<string, ResourceKind>> = {
  ConfigMap: defineKind('v1', 'configmaps', 'ConfigMap'),
  Secret: defineKind('v1', 'secrets', 'Secret'),
  Service: defineKind('v1', 'services', 'Service'),
  StatefulSet: defineKind('apps/v1', 'statefulsets', 'StatefulSet'),
  PodDisruptionBudget: defineKind('policy/v1', 'poddisruptionbudgets', 'PodDisruptionBudget'),
  NetworkPolicy: defineKind('networking.k8s.io/v1', 'networkpolicies', 'NetworkPolicy'),
  PersistentVolumeClaim: defineKind('v1', 'persistentvolumeclaims', 'PersistentVolumeClaim'),
  Pod: defineKind('v1', 'pods', 'Pod'),
}

/** Written, but not watched. */
export const serviceAccounts = defineKind('v1', 'serviceaccounts', 'ServiceAccount')
export const storageClasses = defineKind('storage.k8s.io/v1', 'storageclasses', 'StorageClass')
export const podMonitors = defineKind('monitoring.coreos.com/v1', 'podmonitors', 'PodMonitor')
export const events = defineKind('events.k8s.io/v1', 'events', 'Event')
export const leases = defineKind('coordination.k8s.io/v1', 'leases', 'Lease')

/** The resources that are clusters. */
export function listClusterKinds(acceptsEmqx: boolean): readonly ResourceKind[] {
  return resourceKinds
    .filter(({ subject, group }) => subject === 'cluster' && (acceptsEmqx || group.endsWith('godwit.io')))
    .map(({ group, plural, kind }) => ({ group, version: 'v1beta2', plural, kind }))
}
