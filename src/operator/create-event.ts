// Events of Kubernetes: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/

import { randomUUID } from 'node:crypto'
import type { TransitionEvent } from '../deploy/index.ts'
import { formatApiVersion, type KubeFields, type KubeResource, type ResourceKind } from '../kubernetes/index.ts'

export interface EventSubject {
  readonly kind: ResourceKind
  readonly resource: KubeResource
  /** Name of this operator. */
  readonly identity: string
  readonly nowMs: number
}

export function createEvent({ type, reason, note }: TransitionEvent, subject: EventSubject): KubeFields {
  const { kind, resource, identity, nowMs } = subject
  const { name, namespace = '', uid, resourceVersion } = resource.metadata
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${name}.${randomUUID().slice(0, 13)}`, namespace },
    eventTime: formatMicroTime(nowMs),
    reportingController: 'godwit.io/operator',
    reportingInstance: identity.slice(0, 128),
    action: 'Reconcile',
    type,
    reason,
    note,
    regarding: { apiVersion: formatApiVersion(kind), kind: kind.kind, name, namespace, uid, resourceVersion },
  }
}

/** Six decimals: the API server refuses others. */
export function formatMicroTime(nowMs: number): string {
  return new Date(nowMs).toISOString().replace('Z', '000Z')
}
