// `status` of the resources: what the operator writes.

import { choice, integer, listOf, object, optional, required, text } from './field-types.ts'

const time = text({ maxLength: 64 })
const reason = text({ maxLength: 1_024 })
const message = text({ maxLength: 32_768 })

const conditions = listOf(
  object({
    type: required(text({ minLength: 1, maxLength: 316 }), 'What the condition is about.'),
    status: required(choice(['True', 'False', 'Unknown']), 'Whether it holds.'),
    reason: optional(reason, 'Reason for programs.'),
    message: optional(message, 'Details for administrators.'),
    lastTransitionTime: optional(time, 'Time of the last change of status.'),
    lastUpdateTime: optional(time, 'Time of the last change of the condition.'),
    observedGeneration: optional(integer({ format: 'int64', min: 0 }), 'Generation that the condition is about.'),
  }),
  { maxItems: 32, key: 'type', itemName: 'condition' },
)

const observedGeneration = optional(
  integer({ format: 'int64', min: 0 }),
  'Generation of the resource that the status is about.',
)
const ownConditions = optional(conditions, 'Conditions of the resource.')

export const clusterStatus = object({
  observedGeneration,
  replicas: optional(integer({ min: 0 }), 'Number of pods.'),
  readyReplicas: optional(integer({ min: 0 }), 'Number of pods that are ready.'),
  updatedReplicas: optional(integer({ min: 0 }), 'Number of pods of the newest revision.'),
  selector: optional(text(), 'Selector of the pods, for scaling.'),
  version: optional(text({ maxLength: 128 }), 'Version of the brokers.'),
  certificates: optional(
    listOf(
      object({
        listener: required(text({ maxLength: 16 }), 'Listener of the certificate.'),
        notAfter: optional(time, 'Time at which the certificate expires.'),
      }),
      { maxItems: 8, key: 'listener', itemName: 'certificate' },
    ),
    'Certificates that the brokers use.',
  ),
  conditions: ownConditions,
})

export const backupStatus = object({
  observedGeneration,
  phase: optional(choice(['Pending', 'Running', 'Succeeded', 'Failed', 'Suspended']), 'State of the last run.'),
  lastSchedule: optional(time, 'Time for which the last run was scheduled.'),
  lastSuccess: optional(time, 'End of the last run that succeeded.'),
  lastFailure: optional(time, 'End of the last run that failed.'),
  message: optional(message, 'Result of the last run.'),
  files: optional(
    listOf(
      object({
        name: required(text({ maxLength: 512 }), 'Name of the archive.'),
        size: optional(integer({ format: 'int64', min: 0 }), 'Size in bytes.'),
        sha256: optional(text({ maxLength: 64 }), 'SHA-256 in hexadecimal.'),
      }),
      { maxItems: 1_000, key: 'name', itemName: 'file' },
    ),
    'Archives at the destination, the newest first.',
  ),
  conditions: ownConditions,
})

export const restoreStatus = object({
  observedGeneration,
  phase: optional(choice(['Pending', 'Running', 'Succeeded', 'Failed']), 'State of the restore.'),
  startedAt: optional(time, 'Start of the restore.'),
  finishedAt: optional(time, 'End of the restore.'),
  node: optional(text({ maxLength: 255 }), 'Node that imported the archive.'),
  message: optional(message, 'Response of the broker.'),
  conditions: ownConditions,
})
