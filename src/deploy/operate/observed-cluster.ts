// The state of a cluster as the operator observes it.

import type { JsonObject } from '../documents/manifest-node.ts'

/** An object of the API server. */
export interface LiveObject {
  readonly apiVersion?: unknown
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly uid: string }[]
    readonly deletionTimestamp?: string
  }
  readonly [key: string]: unknown
}

export interface ObservedPod {
  readonly ordinal: number
  readonly name: string
  readonly uid: string
  /** Label `controller-revision-hash`. */
  readonly revision: string
  readonly isReady: boolean
  readonly isTerminating: boolean
  /** Undefined: the operator has not asked the broker for a drain. */
  readonly drain: ObservedDrain | undefined
  /** Undefined: the broker has not reported its files. */
  readonly files: ObservedFiles | undefined
}

export interface ObservedDrain {
  readonly startedAtMs: number
  /** Clients that are still connected; undefined: the broker does not respond. */
  readonly connected: number | undefined
}

/** Files that a broker has applied. */
export interface ObservedFiles {
  /** SHA-256 by folder and name: `acl/acl.conf`. */
  readonly hashes: ReadonlyMap<string, string>
  readonly problems: readonly string[]
}

export interface ObservedClaim {
  readonly name: string
  /** Requested size, as a quantity. */
  readonly storage: string
  /** Whether its storage class can enlarge volumes. */
  readonly isExpandable: boolean
}

export interface ObservedCluster {
  readonly uid: string
  readonly objects: readonly LiveObject[]
  /** In the order of their ordinals. */
  readonly pods: readonly ObservedPod[]
  readonly claims: readonly ObservedClaim[]
  /** Whether the API server has the type PodMonitor. */
  readonly hasPodMonitors: boolean
  readonly hasServiceAccount: boolean
  /**
   * Objects that were applied in this state, as `formatSettled` returns it: the API server writes some values differently, so that they
   * would be applied again and again.
   */
  readonly settled: ReadonlySet<string>
  /** Wall clock. */
  readonly nowMs: number
  /** The same for conditions: in seconds, as Kubernetes writes it. */
  readonly nowText: string
}

export function findLive(observed: ObservedCluster, kind: string, name: string): LiveObject | undefined {
  return observed.objects.find((object) => object.kind === kind && object.metadata.name === name)
}

/** Identifies a content of an object in one version of the API server. */
export function formatSettled(kind: string, name: string, live: LiveObject): string {
  const { uid, generation, resourceVersion } = live.metadata
  return `${kind}/${name}/${uid}/${generation ?? resourceVersion}`
}

/** Returns the value at a path of keys; undefined if a part is missing. */
export function readPath(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (node, key) => (typeof node === 'object' && node !== null ? (node as JsonObject)[key] : undefined),
    value,
  )
}
