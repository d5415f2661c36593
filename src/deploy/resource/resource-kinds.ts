// The resources that exist: their names for the API server, and their fields.

import { backupSpec, restoreSpec } from './backup-fields.ts'
import { clusterSpec } from './cluster-fields.ts'
import { emqxGroup, ownGroup } from './cluster-names.ts'
import type { ObjectField } from './field-types.ts'
import { backupStatus, clusterStatus, restoreStatus } from './status-fields.ts'

export interface ResourceKind {
  readonly group: string
  readonly kind: string
  readonly plural: string
  readonly shortNames: readonly string[]
  readonly description: string
  readonly subject: 'cluster' | 'backup' | 'restore'
  readonly spec: ObjectField
  readonly status: ObjectField
  /** Whether it has the subresource scale. */
  readonly isScalable: boolean
  readonly columns: readonly PrinterColumn[]
}

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string
  readonly type: 'string' | 'integer' | 'date'
  readonly path: string
}

const age: PrinterColumn = { name: 'Age', type: 'date', path: '.metadata.creationTimestamp' }

const clusterColumns: readonly PrinterColumn[] = [
  { name: 'Replicas', type: 'integer', path: '.spec.replicas' },
  { name: 'Ready', type: 'integer', path: '.status.readyReplicas' },
  { name: 'Version', type: 'string', path: '.status.version' },
  { name: 'Available', type: 'string', path: '.status.conditions[?(@.type=="Available")].status' },
  { name: 'Progress', type: 'string', path: '.status.conditions[?(@.type=="Progressing")].reason' },
  age,
]

const cluster = {
  subject: 'cluster',
  spec: clusterSpec,
  status: clusterStatus,
  isScalable: true,
  columns: clusterColumns,
} as const

export const resourceKinds: readonly ResourceKind[] = [
  {
    ...cluster,
    group: ownGroup,
    kind: 'GodwitCluster',
    plural: 'godwitclusters',
    shortNames: ['gwc'],
    description: 'A cluster of Godwit brokers.',
  },
  {
    group: ownGroup,
    kind: 'GodwitBackup',
    plural: 'godwitbackups',
    shortNames: ['gwb'],
    description: 'Backups of a cluster, once or by a schedule.',
    subject: 'backup',
    spec: backupSpec,
    status: backupStatus,
    isScalable: false,
    columns: [
      { name: 'Cluster', type: 'string', path: '.spec.clusterName' },
      { name: 'Schedule', type: 'string', path: '.spec.schedule.cron' },
      { name: 'Phase', type: 'string', path: '.status.phase' },
      { name: 'Last Success', type: 'date', path: '.status.lastSuccess' },
      age,
    ],
  },
  {
    group: ownGroup,
    kind: 'GodwitRestore',
    plural: 'godwitrestores',
    shortNames: ['gwr'],
    description: 'A restore of a backup to a cluster, which runs once.',
    subject: 'restore',
    spec: restoreSpec,
    status: restoreStatus,
    isScalable: false,
    columns: [
      { name: 'Cluster', type: 'string', path: '.spec.clusterName' },
      { name: 'Backup', type: 'string', path: '.spec.backupName' },
      { name: 'Phase', type: 'string', path: '.status.phase' },
      age,
    ],
  },
  {
    ...cluster,
    group: emqxGroup,
    kind: 'EmqxEnterprise',
    plural: 'emqxenterprises',
    shortNames: ['emqx-ee'],
    description: 'A cluster of brokers, as the operator of EMQX names it.',
  },
]
