// One request of the REST API: from its path and body to its response.

import { describeGroup, listGroups, listResources } from './discovery.ts'
import { applyJsonPatch, mergePatch } from './json-patches.ts'
import { createCause, createInvalidError, KubeError } from './kube-error.ts'
import { getObject, getPath, isObject, setPath, type JsonObject, type KubeObject } from './kube-object.ts'
import type { FieldValidation } from './object-admission.ts'
import { parseResourcePath, type ResourcePath } from './request-path.ts'
import {
  toScale,
  type DeleteOptions,
  type ResourceOperations,
  type Target,
  type Written,
} from './resource-operations.ts'
import { formatApiVersion, type ResourceType } from './resource-types.ts'
import { parseSelectors } from './selectors.ts'

export interface KubeRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly contentType: string
  readonly userAgent: string
  readonly body: unknown
}

export type KubeResponse =
  | {
      readonly kind: 'json'
      readonly statusCode: number
      readonly body: unknown
      readonly warnings?: readonly string[]
    }
  | { readonly kind: 'watch'; readonly type: ResourceType; readonly namespace?: string }

export const version = { major: '1', minor: '35', gitVersion: 'v1.35.0+test', platform: 'linux/amd64' }

export function handleRequest(operations: ResourceOperations, request: KubeRequest): KubeResponse {
  const path = parseResourcePath(request.path)
  if (path?.plural === undefined) return discover(operations, request.path)
  const type = operations.types.find(
    (known) => known.group === path.group && known.version === path.version && known.plural === path.plural,
  )
  if (type === undefined) throw new KubeError('NotFound', 'the server could not find the requested resource')
  if (path.name === undefined) return handleCollection(operations, type, path, request)
  const target = { type, namespace: path.namespace ?? '', name: path.name }
  if (path.subresource === 'scale' && type.scale !== undefined) return handleScale(operations, target, request)
  if (path.subresource === 'eviction') return evictPod(operations, target)
  if (path.subresource !== undefined && !(path.subresource === 'status' && type.hasStatus)) {
    throw new KubeError('NotFound', 'the server could not find the requested resource')
  }
  return handleObject(operations, target, request, path.subresource === 'status')
}

function found(body: unknown): KubeResponse {
  return { kind: 'json', statusCode: 200, body }
}

function discover(operations: ResourceOperations, path: string): KubeResponse {
  const parts = path.split('/').filter((part) => part !== '')
  const types = operations.types
  if (path === '/version') return found(version)
  if (path === '/api') return found({ kind: 'APIVersions', versions: ['v1'] })
  if (path === '/apis') return found(listGroups(types))
  const groupVersion = parts[0] === 'api' ? parts[1] : parts.slice(1).join('/')
  if (groupVersion !== undefined && types.some((type) => formatApiVersion(type) === groupVersion)) {
    return found(listResources(types, groupVersion))
  }
  if (parts[0] === 'apis' && types.some(({ group }) => group === parts[1]))
    return found(describeGroup(types, parts[1] ?? ''))
  throw new KubeError('NotFound', 'the server could not find the requested resource')
}

function readWriteOptions(request: KubeRequest): { manager: string; isDryRun: boolean; validation: FieldValidation } {
  const { query, userAgent } = request
  return {
    manager: query.get('fieldManager') ?? (userAgent.split('/')[0] || 'unknown'),
    isDryRun: query.get('dryRun') === 'All',
    validation: (query.get('fieldValidation') ?? 'Warn') as FieldValidation,
  }
}

function toResponse({ object, isNew, warnings }: Written): KubeResponse {
  return { kind: 'json', statusCode: isNew ? 201 : 200, body: object, warnings }
}

function handleCollection(
  operations: ResourceOperations,
  type: ResourceType,
  { namespace }: ResourcePath,
  request: KubeRequest,
): KubeResponse {
  const { method, query } = request
  if (method === 'GET' && query.get('watch') === 'true') {
    return namespace === undefined ? { kind: 'watch', type } : { kind: 'watch', type, namespace }
  }
  if (method === 'GET') return { kind: 'json', statusCode: 200, body: listObjects(operations, type, namespace, query) }
  if (method === 'POST') {
    if (type.isNamespaced && namespace === undefined)
      throw new KubeError('BadRequest', 'an object of this type needs a namespace')
    const given = getPath(request.body, '.metadata.namespace')
    if (given !== undefined && given !== namespace && type.isNamespaced) {
      throw new KubeError(
        'BadRequest',
        `the namespace of the provided object does not match the namespace sent on the request`,
      )
    }
    return toResponse(operations.create(type, namespace ?? '', request.body, readWriteOptions(request)))
  }
  if (method === 'DELETE') {
    const isWanted = parseSelectors(query)
    const objects = operations.store.list(type, namespace).filter(isWanted)
    for (const { metadata } of objects) {
      operations.delete({ type, namespace: metadata.namespace ?? '', name: metadata.name }, readDeleteOptions(request))
    }
    return {
      kind: 'json',
      statusCode: 200,
      body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' },
    }
  }
  throw new KubeError('MethodNotAllowed', `${method} is not allowed on a collection`)
}

/** Items of built-in types have no `apiVersion` and `kind`, as those of the real server. */
function listObjects(
  operations: ResourceOperations,
  type: ResourceType,
  namespace: string | undefined,
  query: URLSearchParams,
): JsonObject {
  const objects = operations.store.list(type, namespace).filter(parseSelectors(query))
  const limit = Number(query.get('limit') ?? 0)
  const start = Number(Buffer.from(query.get('continue') ?? '', 'base64').toString() || 0)
  const items = limit > 0 ? objects.slice(start, start + limit) : objects.slice(start)
  const end = start + items.length
  return {
    kind: `${type.kind}List`,
    apiVersion: formatApiVersion(type),
    metadata: {
      resourceVersion: String(operations.store.revision),
      ...(end < objects.length ? { continue: Buffer.from(String(end)).toString('base64') } : {}),
    },
    items: 'schema' in type ? items : items.map(({ apiVersion: _apiVersion, kind: _kind, ...item }) => item),
  }
}

function handleObject(
  operations: ResourceOperations,
  target: Target,
  request: KubeRequest,
  isStatus: boolean,
): KubeResponse {
  const options = { ...readWriteOptions(request), ...(isStatus ? { subresource: 'status' as const } : {}) }
  if (request.method === 'GET') return { kind: 'json', statusCode: 200, body: operations.read(target) }
  if (request.method === 'PUT') {
    checkName(request.body, target)
    return toResponse(operations.update(target, () => request.body, options))
  }
  if (request.method === 'PATCH' && request.contentType === 'application/apply-patch+yaml') {
    const isForced = request.query.get('force') === 'true'
    const manager = request.query.get('fieldManager') ?? ''
    return toResponse(operations.apply(target, request.body, { ...options, manager, isForced }))
  }
  if (request.method === 'PATCH') {
    return toResponse(operations.update(target, (current) => patchObject(current, request), options))
  }
  if (request.method === 'DELETE') {
    const object = operations.delete(target, readDeleteOptions(request))
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details: { name: target.name } }
    return { kind: 'json', statusCode: 200, body: object ?? status }
  }
  throw new KubeError('MethodNotAllowed', `${request.method} is not allowed on an object`)
}

function checkName(body: unknown, { name }: Target): void {
  if (getPath(body, '.metadata.name') !== name) {
    throw new KubeError('BadRequest', `the name of the object does not match the name on the URL (${name})`)
  }
}

function patchObject(current: KubeObject, { contentType, body }: KubeRequest): unknown {
  if (contentType === 'application/json-patch+json') return applyJsonPatch(current, body)
  if (contentType === 'application/merge-patch+json') return mergePatch(current, body)
  throw new KubeError('UnsupportedMediaType', `the body of the request was in an unknown format: ${contentType}`)
}

function readDeleteOptions({ body, query }: KubeRequest): DeleteOptions {
  const options = isObject(body) ? body : {}
  const policy = options['propagationPolicy'] ?? query.get('propagationPolicy')
  const grace = options['gracePeriodSeconds'] ?? query.get('gracePeriodSeconds')
  return {
    ...(isObject(options['preconditions']) ? { preconditions: options['preconditions'] } : {}),
    ...(policy === 'Orphan' || policy === 'Foreground' || policy === 'Background' ? { propagationPolicy: policy } : {}),
    ...(grace === undefined || grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    isDryRun: query.get('dryRun') === 'All',
  }
}

function handleScale(operations: ResourceOperations, target: Target, request: KubeRequest): KubeResponse {
  const { type } = target
  const read = (object: KubeObject): JsonObject => toScale(type, object, (path) => getPath(object, path))
  const current = operations.read(target)
  if (request.method === 'GET') return { kind: 'json', statusCode: 200, body: read(current) }
  const scale = request.method === 'PUT' ? request.body : mergePatch(read(current), request.body)
  const replicas = getPath(scale, '.spec.replicas')
  if (typeof replicas !== 'number' || replicas < 0) {
    throw createInvalidError('Scale', target.name, [
      createCause('FieldValueInvalid', 'spec.replicas', `Invalid value: ${String(replicas)}`),
    ])
  }
  const resourceVersion = getPath(scale, '.metadata.resourceVersion')
  const changed = structuredClone(current)
  setPath(changed, type.scale?.spec ?? '', replicas)
  if (typeof resourceVersion === 'string') changed.metadata.resourceVersion = resourceVersion
  const { object } = operations.update(target, () => changed, readWriteOptions(request))
  return { kind: 'json', statusCode: 200, body: read(object) }
}

/** Deletes a pod if the budgets that select it allow a disruption; otherwise error 429. */
function evictPod(operations: ResourceOperations, target: Target): KubeResponse {
  const pod = operations.read(target)
  const budgets = operations.store.list(operations.getKind('PodDisruptionBudget'), target.namespace)
  const blocking = budgets.find((budget) => {
    const labels = getPath(budget, '.spec.selector.matchLabels') as JsonObject | undefined
    const isSelected = Object.entries(labels ?? {}).every(([key, value]) => pod.metadata.labels?.[key] === value)
    return isSelected && Number(getObject(budget, 'status')['disruptionsAllowed'] ?? 0) < 1
  })
  if (blocking !== undefined) {
    throw new KubeError(
      'TooManyRequests',
      `Cannot evict pod as it would violate the pod's disruption budget ${blocking.metadata.name}.`,
    )
  }
  operations.delete(target)
  return { kind: 'json', statusCode: 201, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' } }
}
