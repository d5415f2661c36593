// Create, read, update, apply, delete: the operations of all resource types.

import { randomBytes, randomUUID } from 'node:crypto'
import { createCustomType } from './custom-types.ts'
import { createCause, createInvalidError, KubeError } from './kube-error.ts'
import {
  toText,
  getObject,
  isEqual,
  setPath,
  type JsonObject,
  type KubeObject,
  type ManagedFields,
} from './kube-object.ts'
import { applyFields, recordUpdate, type FieldManager } from './managed-fields.ts'
import {
  admitObject,
  checkMetadata,
  checkTypeMeta,
  checkUnknownFields,
  type FieldValidation,
} from './object-admission.ts'
import type { ObjectStore } from './object-store.ts'
import { builtInTypes, formatApiVersion, type MergeSchema, type ResourceType } from './resource-types.ts'

export interface WriteOptions {
  readonly manager: string
  readonly isDryRun?: boolean
  readonly validation?: FieldValidation
  readonly subresource?: 'status'
}

export interface ApplyOptions extends WriteOptions {
  readonly isForced: boolean
}

export interface DeleteOptions {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'
  readonly gracePeriodSeconds?: number
  readonly isDryRun?: boolean
}

export interface Written {
  readonly object: KubeObject
  readonly isNew: boolean
  readonly warnings: readonly string[]
}

export interface Target {
  readonly type: ResourceType
  readonly namespace: string
  readonly name: string
}

/** Types of which each change of the specification increases `metadata.generation`. */
const typesWithGeneration = [
  'StatefulSet',
  'Deployment',
  'PodDisruptionBudget',
  'NetworkPolicy',
  'Job',
  'CustomResourceDefinition',
]

export class ResourceOperations {
  readonly store: ObjectStore
  readonly #now: () => Date

  constructor(store: ObjectStore, now: () => Date = () => new Date()) {
    this.store = store
    this.#now = now
  }

  get types(): ResourceType[] {
    return [...builtInTypes, ...this.#customTypes()]
  }

  getType(group: string, plural: string): ResourceType | undefined {
    return this.types.find((type) => type.group === group && type.plural === plural)
  }

  getKind(kind: string, apiVersion?: string): ResourceType {
    const found = this.types.find(
      (type) => type.kind === kind && (apiVersion === undefined || formatApiVersion(type) === apiVersion),
    )
    if (found === undefined) throw new KubeError('NotFound', `no kind ${kind} in ${apiVersion}`)
    return found
  }

  read({ type, namespace, name }: Target): KubeObject {
    const object = this.store.get(type, namespace, name)
    if (object === undefined) throw createNotFound(type, name)
    return object
  }

  create(type: ResourceType, namespace: string, body: unknown, options: WriteOptions): Written {
    const object = checkTypeMeta(type, body)
    const { generateName, resourceVersion, ...metadata } = getObject(object, 'metadata')
    if (resourceVersion !== undefined && resourceVersion !== '') {
      throw new KubeError('BadRequest', 'resourceVersion should not be set on objects to be created')
    }
    const isGenerated = metadata['name'] === undefined && typeof generateName === 'string'
    const name = isGenerated ? `${generateName}${randomBytes(5).toString('hex').slice(0, 5)}` : toText(metadata['name'])
    const withName = { ...object, metadata: { ...metadata, name, ...(isGenerated ? { generateName } : {}) } }
    return this.#insert({ type, namespace, name }, withName, options)
  }

  /** Changes an object by `mutate`, which gets the stored one. */
  update(target: Target, mutate: (current: KubeObject) => unknown, options: WriteOptions): Written {
    const current = this.read(target)
    const object = checkTypeMeta(target.type, mutate(current)) as KubeObject
    checkVersion(current, object)
    return this.#replace(target, { current, object, options })
  }

  /** Server-side apply; creates an object that does not exist. */
  apply(target: Target, body: unknown, options: ApplyOptions): Written {
    const config = checkTypeMeta(target.type, body)
    const metadata = getObject(config, 'metadata')
    if (metadata['managedFields'] !== undefined) throw new KubeError('BadRequest', 'metadata.managedFields must be nil')
    if (options.manager === '') {
      const cause = createCause('FieldValueRequired', 'fieldManager', 'is required for apply patch')
      throw createInvalidError('PatchOptions', 'meta.k8s.io', [cause])
    }
    if (metadata['name'] !== undefined && metadata['name'] !== target.name) {
      throw new KubeError(
        'BadRequest',
        `the name of the object (${toText(metadata['name'])}) does not match the name on the URL (${target.name})`,
      )
    }
    const { type, namespace, name } = target
    const live = this.store.get(type, namespace, name)
    if (live === undefined && options.subresource !== undefined) throw createNotFound(type, name)
    if (live !== undefined) checkVersion(live, config as KubeObject)
    const { status, ...rest } = config
    const own: JsonObject =
      options.subresource === 'status'
        ? { apiVersion: config['apiVersion'], kind: config['kind'], status }
        : type.hasStatus
          ? rest
          : config
    const schema: MergeSchema = { type: 'object', fields: type.merge }
    const applied = applyFields(live, own, schema, {
      manager: this.#manager(type, options),
      isForced: options.isForced,
    })
    const object = { ...applied.object, metadata: { ...getObject(applied.object, 'metadata'), name } } as KubeObject
    const { managedFields } = applied
    if (live === undefined) return this.#insert(target, object, options, managedFields)
    return this.#replace(target, { current: live, object, options, managedFields })
  }

  delete(target: Target, options: DeleteOptions = {}): KubeObject | undefined {
    const current = this.read(target)
    const { preconditions = {}, propagationPolicy, isDryRun } = options
    const { uid = current.metadata.uid, resourceVersion = current.metadata.resourceVersion } = preconditions
    if (uid !== current.metadata.uid || resourceVersion !== current.metadata.resourceVersion) {
      throw new KubeError(
        'Conflict',
        `the precondition of the deletion of ${target.name} failed: uid ${current.metadata.uid}, resourceVersion ${current.metadata.resourceVersion}`,
      )
    }
    if (isDryRun === true) return current
    const added =
      propagationPolicy === 'Orphan' ? ['orphan'] : propagationPolicy === 'Foreground' ? ['foregroundDeletion'] : []
    const finalizers = [...new Set([...(current.metadata.finalizers ?? []), ...added])]
    const graceSeconds = getGraceSeconds(current, options)
    if (finalizers.length === 0 && graceSeconds === 0) {
      this.#remove(target.type, current)
      return undefined
    }
    const deletionTimestamp = current.metadata.deletionTimestamp ?? formatTime(this.#now())
    const metadata = {
      ...current.metadata,
      deletionTimestamp,
      deletionGracePeriodSeconds: graceSeconds,
      ...(finalizers.length > 0 && { finalizers }),
    }
    if (isEqual(metadata, current.metadata)) return current
    return this.store.put(target.type, { ...current, metadata })
  }

  #customTypes(): ResourceType[] {
    const definitions = builtInTypes.find(({ kind }) => kind === 'CustomResourceDefinition') as ResourceType
    return this.store.list(definitions).flatMap((definition) => {
      const known = this.#custom.get(definition.metadata.resourceVersion)
      const type = known ?? createCustomType(definition)
      if (type === undefined) return []
      this.#custom.set(definition.metadata.resourceVersion, type)
      return [type]
    })
  }
  readonly #custom = new Map<string, ResourceType>()

  #manager(type: ResourceType, { manager, subresource }: WriteOptions): FieldManager {
    const base = { name: manager, apiVersion: formatApiVersion(type), nowIso: formatTime(this.#now()) }
    return subresource === undefined ? base : { ...base, subresource }
  }

  #insert(target: Target, body: JsonObject, options: WriteOptions, managedFields?: ManagedFields[]): Written {
    const { type, namespace, name } = target
    const warnings = checkUnknownFields(type, body, options.validation ?? 'Warn')
    const { status: _status, ...withoutStatus } = body
    const input = (type.hasStatus ? withoutStatus : body) as KubeObject
    checkMetadata(type, input)
    this.#checkNamespace(type, namespace)
    const { deletionTimestamp: _deletion, managedFields: _managed, ...metadata } = input.metadata
    const complete = admitObject(type, {
      ...input,
      metadata: {
        ...metadata,
        ...(type.isNamespaced ? { namespace } : {}),
        uid: randomUUID(),
        creationTimestamp: formatTime(this.#now()),
        ...(hasGeneration(type) ? { generation: 1 } : {}),
      },
    })
    if (this.store.get(type, namespace, name) !== undefined) {
      throw new KubeError('AlreadyExists', `${type.plural} "${name}" already exists`)
    }
    const manager = this.#manager(type, options)
    const schema: MergeSchema = { type: 'object', fields: type.merge }
    complete.metadata.managedFields = managedFields ?? recordUpdate(undefined, complete, schema, manager)
    if (options.isDryRun === true) return { object: complete, isNew: true, warnings }
    return { object: this.store.put(type, complete), isNew: true, warnings }
  }

  #replace(
    target: Target,
    change: {
      readonly current: KubeObject
      readonly object: KubeObject
      readonly options: WriteOptions
      readonly managedFields?: ManagedFields[]
    },
  ): Written {
    const { type } = target
    const { current, object, options, managedFields } = change
    const warnings = checkUnknownFields(type, object, options.validation ?? 'Warn')
    const isStatus = options.subresource === 'status'
    const body = isStatus ? { ...current, status: object['status'] } : keepStatus(type, current, object)
    const input: KubeObject = { ...body, metadata: mergeMetadata(current, isStatus ? current : object) }
    if (input['status'] === undefined) delete input['status']
    checkMetadata(type, input)
    checkFinalizers(type, current, input)
    const complete = admitObject(type, input, current)
    if (hasGeneration(type) && !isStatus && !isEqual(getSpecification(current), getSpecification(complete))) {
      complete.metadata.generation = (current.metadata.generation ?? 0) + 1
    }
    const schema: MergeSchema = { type: 'object', fields: type.merge }
    complete.metadata.managedFields =
      managedFields ?? recordUpdate(current, complete, schema, this.#manager(type, options))
    if (isSame(current, complete)) return { object: current, isNew: false, warnings }
    if (options.isDryRun === true) return { object: complete, isNew: false, warnings }
    const stored = this.store.put(type, complete)
    const isEnded = stored.metadata.deletionTimestamp !== undefined && (stored.metadata.finalizers ?? []).length === 0
    if (isEnded && getGraceSeconds(stored, {}) === 0) this.#remove(type, stored)
    return { object: stored, isNew: false, warnings }
  }

  #checkNamespace(type: ResourceType, namespace: string): void {
    if (!type.isNamespaced) return
    const namespaces = this.getKind('Namespace')
    if (this.store.get(namespaces, '', namespace) === undefined) throw createNotFound(namespaces, namespace)
  }

  /** Deletes the object; with a namespace or a definition, all objects in it or of it. */
  #remove(type: ResourceType, object: KubeObject): void {
    const removed = type.kind === 'CustomResourceDefinition' ? createCustomType(object) : undefined
    if (removed !== undefined) for (const item of this.store.list(removed)) this.store.delete(removed, item)
    this.store.delete(type, object)
    if (type.kind !== 'Namespace') return
    for (const other of this.types.filter(({ isNamespaced }) => isNamespaced)) {
      for (const item of this.store.list(other, object.metadata.name)) this.store.delete(other, item)
    }
  }
}

export function createNotFound(type: ResourceType, name: string): KubeError {
  const group = type.group === '' ? '' : `.${type.group}`
  return new KubeError('NotFound', `${type.plural}${group} "${name}" not found`)
}

/** Returns the time without milliseconds, as `metav1.Time`. */
export function formatTime(date: Date): string {
  return date.toISOString().replace(/\.\d+Z/, 'Z')
}

/** Pods on a node end gracefully: the kubelet deletes them. */
function getGraceSeconds(object: KubeObject, { gracePeriodSeconds }: DeleteOptions): number {
  const spec = getObject(object, 'spec')
  if (object.kind !== 'Pod' || spec['nodeName'] === undefined) return 0
  return gracePeriodSeconds ?? Number(spec['terminationGracePeriodSeconds'] ?? 30)
}

function hasGeneration(type: ResourceType): boolean {
  return 'schema' in type || typesWithGeneration.includes(type.kind)
}

function keepStatus(type: ResourceType, current: KubeObject, object: KubeObject): KubeObject {
  return type.hasStatus ? { ...object, status: current['status'] } : object
}

function checkVersion(current: KubeObject, object: KubeObject): void {
  const { resourceVersion, uid } = getObject(object, 'metadata')
  const { name } = current.metadata
  if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== current.metadata.resourceVersion) {
    throw new KubeError(
      'Conflict',
      `Operation cannot be fulfilled on "${name}": the object has been modified; please apply your changes to the latest version and try again`,
    )
  }
  if (uid !== undefined && uid !== current.metadata.uid) {
    throw new KubeError(
      'Conflict',
      `Precondition failed: UID in precondition: ${toText(uid)}, UID in object meta: ${current.metadata.uid}`,
    )
  }
}

/** Metadata that the server owns stays as it is. */
function mergeMetadata(current: KubeObject, object: KubeObject): KubeObject['metadata'] {
  const {
    name,
    namespace,
    uid,
    creationTimestamp,
    generation,
    generateName,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    managedFields,
    resourceVersion,
  } = current.metadata
  const { labels, annotations, finalizers, ownerReferences } = object.metadata ?? {}
  const all = {
    labels,
    annotations,
    finalizers,
    ownerReferences,
    namespace,
    generation,
    generateName,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    managedFields,
  }
  const defined = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined && value !== null))
  return { ...defined, name, uid, creationTimestamp, resourceVersion }
}

function checkFinalizers(type: ResourceType, current: KubeObject, object: KubeObject): void {
  if (current.metadata.deletionTimestamp === undefined) return
  const before = current.metadata.finalizers ?? []
  const added = (object.metadata.finalizers ?? []).filter((name) => !before.includes(name))
  if (added.length === 0) return
  const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`
  throw createInvalidError(type.kind, object.metadata.name, [
    createCause('FieldValueForbidden', 'metadata.finalizers', message),
  ])
}

function getSpecification({ metadata: _metadata, status: _status, ...rest }: KubeObject): JsonObject {
  return rest
}

function isSame(current: KubeObject, object: KubeObject): boolean {
  return isEqual(withoutTimes(current), withoutTimes(object))
}

/** The times of managed fields do not make a difference. */
function withoutTimes(object: KubeObject): JsonObject {
  const copy = structuredClone(object)
  copy.metadata.managedFields = (copy.metadata.managedFields ?? [])
    .map(({ time: _time, ...entry }) => entry as ManagedFields)
    .toSorted((a, b) =>
      JSON.stringify([a.manager, a.operation, a.subresource]) < JSON.stringify([b.manager, b.operation, b.subresource])
        ? -1
        : 1,
    )
  return copy
}

/** Returns the subresource `scale` of an object. */
export function toScale(type: ResourceType, object: KubeObject, read: (path: string) => unknown): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const { spec = '', status = '', selector } = type.scale ?? {}
  const value: JsonObject = {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: read(spec) ?? 0 },
    status: { replicas: read(status) ?? 0 },
  }
  const text = selector === undefined ? undefined : read(selector)
  if (text !== undefined) setPath(value, '.status.selector', text)
  return value
}
