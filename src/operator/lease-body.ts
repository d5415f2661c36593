// The Lease object of the leader election.

import { readPath } from '../deploy/index.ts'
import type { KubeFields, KubeResource } from '../kubernetes/index.ts'
import { formatMicroTime } from './create-event.ts'

export interface LeaseFacts {
  readonly name: string
  /** Empty: the lease is free. */
  readonly holder: string
  readonly durationSeconds: number
  /** Wall clock. */
  readonly nowMs: number
}

/** Returns the new content of a lease. The version of the earlier one makes a second writer fail. */
export function createLeaseBody(lease: KubeResource | undefined, facts: LeaseFacts): KubeFields {
  const { name, holder, durationSeconds, nowMs } = facts
  const now = formatMicroTime(nowMs)
  const isSameHolder = readPath(lease, 'spec', 'holderIdentity') === holder
  const transitions = Number(readPath(lease, 'spec', 'leaseTransitions') ?? 0)
  const acquireTime = isSameHolder ? (readPath(lease, 'spec', 'acquireTime') ?? now) : now
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, ...(lease === undefined ? {} : { resourceVersion: lease.metadata.resourceVersion }) },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: durationSeconds,
      acquireTime,
      renewTime: now,
      leaseTransitions: isSameHolder || lease === undefined ? transitions : transitions + 1,
    },
  }
}
