// Objects of Kubernetes as JSON, without nulls and empty parts that mean nothing.

import type { JsonObject, JsonValue } from '../documents/manifest-node.ts'
import { containerNames, labelKeys } from '../resource/cluster-names.ts'
import { emqxGroup } from '../resource/cluster-names.ts'
import type { ClusterResource } from '../read-resource.ts'

/** An object for the API server. */
export interface KubernetesObject extends JsonObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMetadata
}

export interface ObjectMetadata extends JsonObject {
  readonly name: string
}

/** The resource as owner of its objects. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

/** What the functions of this folder need besides the resource. */
export interface RenderContext {
  readonly cluster: ClusterResource
  readonly namespace: string | undefined
  readonly owner: OwnerReference | undefined
}

type Loose = { readonly [key: string]: unknown }

/** Returns the object without undefined fields. Values that come from a resource have no nulls. */
export function omitUndefined(object: Loose): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as JsonObject
}

/** Returns undefined for an empty list or object, which Kubernetes drops. */
export function omitEmpty<T extends object>(value: T | undefined): T | undefined {
  if (value === undefined) return undefined
  return (Array.isArray(value) ? value.length : Object.keys(value).length) === 0 ? undefined : value
}

/** Labels that never change, which selectors and claims may have. */
export function listSelectorLabels({ metadata }: ClusterResource): Readonly<Record<string, string>> {
  return { [labelKeys.own]: metadata.name }
}

/** Labels of the operator. */
export function listOwnLabels(cluster: ClusterResource): Readonly<Record<string, string>> {
  const { name } = cluster.metadata
  return {
    [labelKeys.name]: containerNames.broker,
    [labelKeys.instance]: name,
    [labelKeys.managedBy]: 'godwit-operator',
    [labelKeys.own]: name,
    ...(cluster.group === emqxGroup ? { [labelKeys.emqx]: name } : {}),
  }
}

/** Labels of an object: those of the resource, those of the spec, `own` of the object, then those of the operator. */
export function listLabels(cluster: ClusterResource, own: Readonly<Record<string, string>> = {}): JsonObject {
  return sortKeys({ ...cluster.metadata.labels, ...cluster.spec.labels, ...own, ...listOwnLabels(cluster) })
}

/** Returns the object with sorted keys, so that the same content is the same text. */
export function sortKeys<T extends JsonValue>(object: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

export interface ObjectOptions {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
  /** Whether it is deleted with the resource; default true. */
  readonly isOwned?: boolean
}

/** Creates an object with the metadata that all objects have; `content` is the rest. */
export function createObject(
  { cluster, namespace, owner }: RenderContext,
  options: ObjectOptions,
  content: Loose,
): KubernetesObject {
  const { apiVersion, kind, name, labels, annotations, isOwned = true } = options
  const metadata = omitUndefined({
    name,
    namespace,
    labels: listLabels(cluster, labels),
    annotations: annotations === undefined ? undefined : omitEmpty(sortKeys(annotations)),
    ownerReferences:
      owner === undefined || !isOwned ? undefined : [{ ...owner, controller: true, blockOwnerDeletion: true }],
  })
  return { apiVersion, kind, metadata, ...omitUndefined(content) } as KubernetesObject
}
