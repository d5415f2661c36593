// Copies of the resources and of their objects, kept by watches.

import { labelKeys } from '../deploy/index.ts'
import {
  formatApiVersion,
  type KubeClient,
  type KubeResource,
  Reflector,
  type ResourceKind,
} from '../kubernetes/index.ts'
import { objectKinds } from './watched-kinds.ts'

export interface CacheOptions {
  readonly client: KubeClient
  /** Undefined: all namespaces. */
  readonly namespaces: readonly string[] | undefined
  readonly clusterKinds: readonly ResourceKind[]
  /** A resource, or one of its objects, has changed. */
  readonly onChange: (namespace: string, name: string) => void
  readonly onProblem: (kind: string, problem: string) => void
}

export class ClusterCache {
  readonly #options: CacheOptions
  readonly #reflectors: { readonly kind: ResourceKind; readonly reflector: Reflector }[] = []
  /** By namespace and instance, then by kind and name. */
  readonly #objects = new Map<string, Map<string, KubeResource>>()

  constructor(options: CacheOptions) {
    this.#options = options
    for (const kind of options.clusterKinds) this.#add(kind, undefined, ({ metadata }) => metadata.name)
    for (const kind of Object.values(objectKinds)) this.#add(kind, labelKeys.own, findInstance)
  }

  /** Resolves when everything was listed. */
  async start(): Promise<void> {
    for (const { reflector } of this.#reflectors) void reflector.run()
    await Promise.all(this.#reflectors.map(({ reflector }) => reflector.synced))
  }

  stop(): void {
    for (const { reflector } of this.#reflectors) reflector.stop()
  }

  /** All clusters. */
  *listResources(): Generator<{ readonly namespace: string; readonly name: string }> {
    for (const { kind, reflector } of this.#reflectors) {
      if (!this.#options.clusterKinds.includes(kind)) continue
      for (const { metadata } of reflector.list()) yield { namespace: metadata.namespace ?? '', name: metadata.name }
    }
  }

  findResource(kind: string, namespace: string, name: string): KubeResource | undefined {
    for (const { kind: own, reflector } of this.#reflectors) {
      const found = own.kind === kind ? reflector.get(namespace, name) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }

  /** Objects of a cluster, with their kind, which lists of the API server omit. */
  listObjects(namespace: string, instance: string): readonly KubeResource[] {
    return [...(this.#objects.get(`${namespace}/${instance}`)?.values() ?? [])]
  }

  #add(kind: ResourceKind, labelSelector: string | undefined, findInstance: (object: KubeResource) => string): void {
    const { client, namespaces, onProblem } = this.#options
    for (const namespace of namespaces ?? [undefined]) {
      const reflector: Reflector = new Reflector({
        client,
        address: { kind, namespace },
        labelSelector,
        reduce: (object) => reduceObject(object, kind),
        onChange: (object) => this.#handleChange(reflector, kind.kind, findInstance(object), object),
        onProblem: (problem) => onProblem(kind.kind, problem),
      })
      this.#reflectors.push({ kind, reflector })
    }
  }

  #handleChange(reflector: Reflector, kind: string, instance: string, { metadata }: KubeResource): void {
    const { name, namespace = '' } = metadata
    const key = `${namespace}/${instance}`
    const objects = this.#objects.get(key) ?? new Map<string, KubeResource>()
    const current = reflector.get(namespace, name)
    if (current === undefined) objects.delete(`${kind}/${name}`)
    else objects.set(`${kind}/${name}`, current)
    if (objects.size === 0) this.#objects.delete(key)
    else this.#objects.set(key, objects)
    this.#options.onChange(namespace, instance)
  }
}

function findInstance({ metadata }: KubeResource): string {
  return metadata.labels?.[labelKeys.own] ?? ''
}

/** Managed fields are half of an object, and are not used. */
function reduceObject(object: KubeResource, kind: ResourceKind): KubeResource {
  const { managedFields: _managed, ...metadata } = object.metadata
  return { ...object, apiVersion: formatApiVersion(kind), kind: kind.kind, metadata }
}
