// Paths of the API: `/api/v1/...` for the core group, `/apis/GROUP/VERSION/...` for the others.

export interface ResourcePath {
  readonly group: string
  readonly version: string
  readonly namespace?: string
  /** Undefined in a discovery request. */
  readonly plural?: string
  readonly name?: string
  readonly subresource?: string
}

/** Returns undefined if the path is no path of a resource, such as `/version`. */
export function parseResourcePath(path: string): ResourcePath | undefined {
  const parts = path.split('/').filter((part) => part !== '')
  const root = parts.shift()
  if (root !== 'api' && root !== 'apis') return undefined
  const group = root === 'api' ? '' : parts.shift()
  const version = parts.shift()
  if (group === undefined || version === undefined) return undefined
  const isInNamespace = parts[0] === 'namespaces' && parts.length > 2 && !isSubresourceOfNamespace(parts[2] ?? '')
  const namespace = isInNamespace ? parts.splice(0, 2)[1] : undefined
  const [plural, name, subresource] = parts.map(decodeURIComponent)
  return {
    group,
    version,
    ...(namespace !== undefined && { namespace }),
    ...(plural !== undefined && { plural }),
    ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
  }
}

function isSubresourceOfNamespace(name: string): boolean {
  return name === 'status' || name === 'finalize'
}
