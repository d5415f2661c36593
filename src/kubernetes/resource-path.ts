// Paths of the REST API of Kubernetes.

export interface ResourceKind {
  /** Empty: the core group. */
  readonly group: string
  readonly version: string
  /** Such as `statefulsets`. */
  readonly plural: string
  readonly kind: string
}

export interface ResourceAddress {
  readonly kind: ResourceKind
  /** Undefined: all namespaces, or a resource that is in none. */
  readonly namespace?: string | undefined
  /** Undefined: the collection. */
  readonly name?: string | undefined
  readonly subresource?: 'status' | 'scale' | undefined
}

export function formatResourcePath({ kind, namespace, name, subresource }: ResourceAddress): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`
  const parts = [
    root,
    ...(namespace === undefined ? [] : ['namespaces', encodeURIComponent(namespace)]),
    kind.plural,
    ...(name === undefined ? [] : [encodeURIComponent(name)]),
    ...(subresource === undefined ? [] : [subresource]),
  ]
  return parts.join('/')
}

/** Returns `apps/v1`, or `v1` for the core group. */
export function formatApiVersion({ group, version }: ResourceKind): string {
  return group === '' ? version : `${group}/${version}`
}
