// Objects in memory, with one revision for all of them and the last changes for watches.

import { KubeError } from './kube-error.ts'
import type { KubeObject } from './kube-object.ts'
import type { ResourceType } from './resource-types.ts'

export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly resource: ResourceType
  readonly revision: number
  readonly object: KubeObject
  /** The object before the change; undefined if it is new. */
  readonly previous?: KubeObject
}

const maxEvents = 20_000

export class ObjectStore {
  /** Key: group and plural; then namespace and name. Objects are never changed, only replaced. */
  readonly #objects = new Map<string, Map<string, KubeObject>>()
  readonly #listeners = new Set<(event: StoreEvent) => void>()
  #events: StoreEvent[] = []
  #revision = 1_000
  /** A watch from an older revision gets error 410. */
  #oldestRevision = 1_000

  get revision(): number {
    return this.#revision
  }

  get(resource: ResourceType, namespace: string, name: string): KubeObject | undefined {
    return this.#table(resource).get(createKey(namespace, name))
  }

  /** Returns the objects of a namespace, or of all, in the order of their keys. */
  list(resource: ResourceType, namespace?: string): KubeObject[] {
    const objects = [...this.#table(resource)].filter(
      ([, object]) => namespace === undefined || object.metadata.namespace === namespace,
    )
    return objects.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object)
  }

  /** Stores the object under a new revision, which it gets as `resourceVersion`. */
  put(resource: ResourceType, object: KubeObject): KubeObject {
    this.#revision += 1
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } }
    const key = createKey(object.metadata.namespace ?? '', object.metadata.name)
    const previous = this.#table(resource).get(key)
    this.#table(resource).set(key, stored)
    const type = previous === undefined ? 'ADDED' : 'MODIFIED'
    this.#emit({ type, resource, revision: this.#revision, object: stored, ...(previous && { previous }) })
    return stored
  }

  delete(resource: ResourceType, object: KubeObject): void {
    this.#revision += 1
    this.#table(resource).delete(createKey(object.metadata.namespace ?? '', object.metadata.name))
    const deleted = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } }
    this.#emit({ type: 'DELETED', resource, revision: this.#revision, object: deleted, previous: object })
  }

  /** Returns the changes after `revision`; error 410 if they are not kept any more. */
  eventsAfter(revision: number): readonly StoreEvent[] {
    if (revision < this.#oldestRevision) {
      throw new KubeError('Expired', `too old resource version: ${revision} (${this.#oldestRevision})`)
    }
    return this.#events.filter((event) => event.revision > revision)
  }

  /** Forgets all changes, as etcd does after five minutes. */
  compact(): void {
    this.#events = []
    this.#oldestRevision = this.#revision
  }

  subscribe(listener: (event: StoreEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #table({ group, plural }: ResourceType): Map<string, KubeObject> {
    const key = `${group}/${plural}`
    const table = this.#objects.get(key) ?? new Map<string, KubeObject>()
    this.#objects.set(key, table)
    return table
  }

  #emit(event: StoreEvent): void {
    this.#events.push(event)
    if (this.#events.length > maxEvents) {
      const dropped = this.#events.splice(0, maxEvents / 2)
      this.#oldestRevision = dropped.at(-1)?.revision ?? this.#oldestRevision
    }
    for (const listener of this.#listeners) listener(event)
  }
}

function createKey(namespace: string, name: string): string {
  return `${namespace}/${name}`
}
