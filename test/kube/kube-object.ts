// The JSON of Kubernetes: objects, their metadata, and access to nested fields.

import { isDeepStrictEqual } from 'node:util'

export type JsonObject = { [key: string]: unknown }

export interface OwnerReference extends JsonObject {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

export interface ManagedFields extends JsonObject {
  manager: string
  operation: 'Apply' | 'Update'
  apiVersion: string
  time?: string
  fieldsType: 'FieldsV1'
  fieldsV1: JsonObject
  subresource?: string
}

export interface ObjectMeta extends JsonObject {
  name: string
  namespace?: string
  generateName?: string
  uid: string
  resourceVersion: string
  generation?: number
  creationTimestamp: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: { [key: string]: string }
  annotations?: { [key: string]: string }
  finalizers?: string[]
  ownerReferences?: OwnerReference[]
  managedFields?: ManagedFields[]
}

export interface KubeObject extends JsonObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const isEqual = isDeepStrictEqual

/** Returns the value at `path`, such as `.spec.replicas`; undefined if a part is missing. */
export function getPath(value: unknown, path: string): unknown {
  return path
    .split('.')
    .filter((part) => part !== '')
    .reduce<unknown>((node, part) => (isObject(node) ? node[part] : undefined), value)
}

/** Returns a string, number or boolean as text; an empty text for everything else. */
export function toText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

/** Sets the value at `path`, such as `.spec.replicas`, and creates the objects above it. */
export function setPath(object: JsonObject, path: string, value: unknown): void {
  const parts = path.split('.').filter((part) => part !== '')
  let node = object
  for (const part of parts.slice(0, -1)) {
    const next = node[part]
    node = isObject(next) ? next : (node[part] = {})
  }
  node[parts.at(-1) ?? ''] = value
}

/** Returns the object at `key`; an empty one if there is none. */
export function getObject(object: JsonObject, key: string): JsonObject {
  const value = object[key]
  return isObject(value) ? value : {}
}

/** Returns the list at `key`; an empty one if there is none. */
export function getList(object: JsonObject, key: string): JsonObject[] {
  const value = object[key]
  return Array.isArray(value) ? value.filter(isObject) : []
}
