// `spec` of GodwitBackup and GodwitRestore.

import {
  boolean,
  integer,
  object,
  optional,
  required,
  text,
  withDefault,
  type Draft,
  type ValueOf,
} from './field-types.ts'
import { dnsLabel, dnsName } from './text-forms.ts'

const clusterName = text({ form: dnsLabel, minLength: 1, maxLength: 52 })
const secretName = text({ form: dnsName, minLength: 1, maxLength: 253 })

const pvc = object({
  claimName: required(text({ form: dnsName, minLength: 1, maxLength: 253 }), 'Name of the claim.'),
  path: optional(text({ maxLength: 1_024 }), 'Directory in the volume; default: its root.'),
})

const s3 = object({
  endpoint: required(
    text({
      form: { pattern: '^https?://[^/?#@\\s]+/?$', name: 'an address such as https://s3.example' },
      maxLength: 512,
    }),
    'Address of the service.',
  ),
  bucket: required(
    text({ form: { pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$', name: 'a name of a bucket' }, maxLength: 63 }),
    'Bucket.',
  ),
  prefix: optional(text({ maxLength: 512 }), 'Prefix of the keys.'),
  region: withDefault(text({ minLength: 1, maxLength: 64 }), 'us-east-1', 'Region for the signature.'),
  credentialsSecret: required(secretName, 'Secret with the keys access-key-id and secret-access-key.'),
  caSecret: optional(secretName, 'Secret whose key ca.crt has the certificates of the authorities of the service.'),
  forcePathStyle: withDefault(boolean, false, 'Whether the bucket is in the path and not in the host name.'),
})

const maxRetention = 1_000

export const backupSpec = object({
  clusterName: required(clusterName, 'Cluster in the same namespace.'),
  schedule: optional(
    object({
      cron: required(
        text({ minLength: 9, maxLength: 128 }),
        'Times: minute, hour, day of the month, month and day of the week.',
      ),
      timeZone: withDefault(
        text({ minLength: 1, maxLength: 64 }),
        'Etc/UTC',
        'Time zone of the times, such as Europe/Berlin.',
      ),
    }),
    'When backups are made. Absent: one, at once.',
  ),
  suspend: withDefault(boolean, false, 'Whether no backup is started.'),
  pvc: optional(pvc, 'Claim that gets the archives. It excludes s3.'),
  s3: optional(s3, 'S3 service that gets the archives. It excludes pvc.'),
  retention: optional(
    object({
      keep: withDefault(integer({ min: 1, max: maxRetention }), 7, 'Number of archives that are kept.'),
      maxAge: optional(
        text({ form: { pattern: '^[1-9][0-9]{0,5}[hdw]$', name: 'an age such as 30d' }, maxLength: 7 }),
        'Age at which an archive is deleted: hours, days or weeks. The newest one is always kept.',
      ),
    }),
    'Archives that are kept. Others are deleted after a backup that succeeded.',
  ),
  verify: withDefault(boolean, true, 'Whether each archive is read again and checked.'),
})

export const restoreSpec = object({
  clusterName: required(clusterName, 'Cluster in the same namespace.'),
  backupName: required(
    text({
      form: {
        pattern: '^[^/\\\\]+\\.tar\\.gz$',
        name: 'the name of an archive, such as godwit-export-2026-11-29-12-00-00.000.tar.gz',
      },
      maxLength: 255,
    }),
    'Name of the archive, unchanged.',
  ),
  pvc: optional(pvc, 'Claim with the archive. It excludes s3.'),
  s3: optional(s3, 'S3 service with the archive. It excludes pvc.'),
  allow_security_profile_mismatch: withDefault(
    boolean,
    false,
    'Whether an archive of another security profile is imported.',
    { spellings: ['allowSecurityProfileMismatch'] },
  ),
  dryRun: withDefault(boolean, false, 'Whether the archive is only checked.'),
})

export type BackupSpec = ValueOf<typeof backupSpec>
export type BackupSpecDraft = Draft<BackupSpec>
export type RestoreSpec = ValueOf<typeof restoreSpec>
export type RestoreSpecDraft = Draft<RestoreSpec>
