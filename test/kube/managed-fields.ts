// Owners of fields: server-side apply with its conflicts, and updates, which take the fields that they change.

import {
  collectFields,
  formatFieldPath,
  isWithin,
  mergeFields,
  parseFieldsV1,
  removeFields,
  toFieldsV1,
} from './field-sets.ts'
import { createCause, KubeError } from './kube-error.ts'
import { isEqual, type JsonObject, type KubeObject, type ManagedFields } from './kube-object.ts'
import type { MergeSchema } from './resource-types.ts'

export interface FieldManager {
  readonly name: string
  readonly apiVersion: string
  readonly subresource?: string
  readonly nowIso: string
}

/** Fields that the server sets: they have no owner. */
const serverFields =
  /^f:(apiVersion|kind|metadata\nf:(name|namespace|uid|resourceVersion|generation|generateName|creationTimestamp|deletionTimestamp|deletionGracePeriodSeconds|managedFields|selfLink))(\n|$)|^f:metadata$/

function collectOwnable(object: JsonObject, schema: MergeSchema): Map<string, unknown> {
  return new Map([...collectFields(object, schema)].filter(([path]) => !serverFields.test(path)))
}

/** Returns the owners after an update: `manager` owns the fields that have changed. */
export function recordUpdate(
  previous: JsonObject | undefined,
  object: KubeObject,
  schema: MergeSchema,
  manager: FieldManager,
): ManagedFields[] {
  const before = collectOwnable(previous ?? {}, schema)
  const after = collectOwnable(object, schema)
  const changed = [...after].filter(([path, value]) => !before.has(path) || !isEqual(before.get(path), value))
  const changedPaths = new Set(changed.map(([path]) => path))
  const removed = [...before.keys()].filter((path) => !after.has(path))
  const entries = object.metadata.managedFields ?? []
  if (changedPaths.size === 0 && removed.length === 0) return entries
  const own = entries.find((entry) => isEntryOf(entry, manager, 'Update'))
  const remaining = entries
    .filter((entry) => entry !== own)
    .flatMap((entry) => keepPaths(entry, (path) => after.has(path) && !changedPaths.has(path)))
  const ownPaths = new Set([...(own === undefined ? [] : parseFieldsV1(own.fieldsV1)), ...changedPaths])
  const kept = [...ownPaths].filter((path) => after.has(path))
  return kept.length === 0 ? remaining : [...remaining, createEntry(manager, 'Update', kept)]
}

export interface AppliedObject {
  readonly object: JsonObject
  readonly managedFields: ManagedFields[]
}

/** Applies `config` to `live`. Fields of other managers with other values are a conflict, or are taken with `isForced`. */
export function applyFields(
  live: KubeObject | undefined,
  config: JsonObject,
  schema: MergeSchema,
  options: { readonly manager: FieldManager; readonly isForced: boolean },
): AppliedObject {
  const { manager, isForced } = options
  const entries = live?.metadata.managedFields ?? []
  const own = entries.find((entry) => isEntryOf(entry, manager, 'Apply'))
  const others = entries.filter((entry) => entry !== own)
  const wanted = collectOwnable(config, schema)
  const liveFields = collectOwnable(live ?? {}, schema)
  const changed = [...wanted].filter(([path, value]) => liveFields.has(path) && !isEqual(liveFields.get(path), value))
  const changedPaths = new Set(changed.map(([path]) => path))
  if (!isForced) refuseConflicts(others, changedPaths)
  const remaining = others.flatMap((entry) => keepPaths(entry, (path) => !changedPaths.has(path)))
  const owned = [...wanted.keys(), ...remaining.flatMap((entry) => parseFieldsV1(entry.fieldsV1))]
  const dropped = (own === undefined ? [] : parseFieldsV1(own.fieldsV1)).filter(
    (path) => !owned.some((other) => isWithin(other, path)),
  )
  const merged = removeFields(mergeFields(live ?? {}, config, schema) as JsonObject, dropped)
  return { object: merged, managedFields: [...remaining, createEntry(manager, 'Apply', [...wanted.keys()])] }
}

function refuseConflicts(others: readonly ManagedFields[], changed: ReadonlySet<string>): void {
  const causes = others.flatMap((entry) =>
    parseFieldsV1(entry.fieldsV1)
      .filter((path) => changed.has(path))
      .map((path) =>
        createCause(
          'FieldManagerConflict',
          formatFieldPath(path),
          `conflict with "${entry.manager}" using ${entry.apiVersion}`,
        ),
      ),
  )
  if (causes.length === 0) return
  const plural = causes.length === 1 ? 'conflict' : 'conflicts'
  throw new KubeError(
    'Conflict',
    `Apply failed with ${causes.length} ${plural}: ${causes[0]?.message}: ${causes[0]?.field}`,
    causes,
  )
}

function isEntryOf(entry: ManagedFields, manager: FieldManager, operation: 'Apply' | 'Update'): boolean {
  return (
    entry.manager === manager.name &&
    entry.operation === operation &&
    entry.apiVersion === manager.apiVersion &&
    entry.subresource === manager.subresource
  )
}

function keepPaths(entry: ManagedFields, isKept: (path: string) => boolean): ManagedFields[] {
  const paths = parseFieldsV1(entry.fieldsV1)
  const kept = paths.filter(isKept)
  if (kept.length === paths.length) return [entry]
  return kept.length === 0 ? [] : [{ ...entry, fieldsV1: toFieldsV1(kept) }]
}

function createEntry(manager: FieldManager, operation: 'Apply' | 'Update', paths: readonly string[]): ManagedFields {
  return {
    manager: manager.name,
    operation,
    apiVersion: manager.apiVersion,
    time: manager.nowIso,
    fieldsType: 'FieldsV1',
    fieldsV1: toFieldsV1(paths),
    ...(manager.subresource === undefined ? {} : { subresource: manager.subresource }),
  }
}
