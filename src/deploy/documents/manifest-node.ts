// A document of Kubernetes as a tree with lines. Keys are in maps, so that a key such as `__proto__` changes no prototype.
//
//   map    ── entries: key -> node
//   list   ── items
//   scalar ── text, number, boolean, null

/** A plain value, as in JSON. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** `line` starts at 1; 0: the node is in no file. */
export type ManifestNode = ManifestMap | ManifestList | ManifestScalar

export interface ManifestMap {
  readonly kind: 'map'
  readonly entries: ReadonlyMap<string, ManifestNode>
  readonly line: number
}

export interface ManifestList {
  readonly kind: 'list'
  readonly items: readonly ManifestNode[]
  readonly line: number
}

export interface ManifestScalar {
  readonly kind: 'scalar'
  readonly value: string | number | boolean | null
  readonly line: number
}

/** Limits of one text of documents. etcd stores at most 1.5 MiB of one object. */
export const manifestLimits = {
  maxTextCharacters: 1_572_864,
  maxDocuments: 1_000,
  maxDepth: 64,
  /** Values of all documents. */
  maxNodes: 100_000,
  /** Values that aliases of YAML add. */
  maxAliasedNodes: 10_000,
  /** Reported faults, and reported warnings, of one document. */
  maxFaults: 200,
} as const

/** Keys and indexes from the document to a value. */
export type ManifestPath = readonly (string | number)[]

/** Formats a path: `spec.env[0].name`, `metadata.labels["app.kubernetes.io/name"]`; empty for the document. */
export function formatPath(path: ManifestPath): string {
  let text = ''
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`
    else if (/^[A-Za-z_][A-Za-z0-9_-]*$/.test(part)) text += text === '' ? part : `.${part}`
    else text += `[${JSON.stringify(part.length > 100 ? `${part.slice(0, 100)}...` : part)}]`
  }
  return text
}

/** Returns the line of the value at `path`, or of the innermost value around it that exists. */
export function findLine(document: ManifestNode, path: ManifestPath): number {
  let node = document
  for (const part of path) {
    const below = getBelow(node, part)
    if (below === undefined) break
    node = below
  }
  return node.line
}

function getBelow(node: ManifestNode, part: string | number): ManifestNode | undefined {
  if (node.kind === 'map') return node.entries.get(String(part))
  return node.kind === 'list' && typeof part === 'number' ? node.items[part] : undefined
}

/**
 * Converts a plain value, such as a parsed response of the API server. Undefined: it is deeper than a document may be, has too many values,
 * or something that JSON has not.
 */
export function fromJson(value: unknown): ManifestNode | undefined {
  const counter = { left: manifestLimits.maxNodes }
  return convertFromJson(value, 0, counter)
}

function convertFromJson(value: unknown, depth: number, counter: { left: number }): ManifestNode | undefined {
  counter.left--
  if (counter.left < 0 || depth > manifestLimits.maxDepth) return undefined
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number')
    return { kind: 'scalar', value, line: 0 }
  if (Array.isArray(value)) {
    const items: ManifestNode[] = []
    for (const item of value as unknown[]) {
      const node = convertFromJson(item, depth + 1, counter)
      if (node === undefined) return undefined
      items.push(node)
    }
    return { kind: 'list', items, line: 0 }
  }
  if (typeof value !== 'object') return undefined
  const entries = new Map<string, ManifestNode>()
  for (const [key, part] of Object.entries(value)) {
    if (part === undefined) continue
    const node = convertFromJson(part, depth + 1, counter)
    if (node === undefined) return undefined
    entries.set(key, node)
  }
  return { kind: 'map', entries, line: 0 }
}

/** Returns the plain value without nulls in maps: for Kubernetes, null is absent. `Object.fromEntries` defines keys and never sets a prototype. */
export function toJson(node: ManifestNode): JsonValue {
  if (node.kind === 'scalar') return node.value
  if (node.kind === 'list') return node.items.map(toJson)
  return Object.fromEntries(
    [...node.entries].filter(([, part]) => !isNull(part)).map(([key, part]) => [key, toJson(part)]),
  )
}

/** Returns whether the node is null, which is the same as absent. */
export function isNull(node: ManifestNode): boolean {
  return node.kind === 'scalar' && node.value === null
}

/** Returns whether both have the same content; the order of keys does not matter. */
export function equalsNode(a: ManifestNode, b: ManifestNode): boolean {
  if (a.kind === 'scalar' || b.kind === 'scalar')
    return a.kind === 'scalar' && b.kind === 'scalar' && a.value === b.value
  if (a.kind === 'list')
    return (
      b.kind === 'list' &&
      a.items.length === b.items.length &&
      a.items.every((item, index) => {
        const other = b.items[index]
        return other !== undefined && equalsNode(item, other)
      })
    )
  if (b.kind !== 'map' || a.entries.size !== b.entries.size) return false
  return [...a.entries].every(([key, part]) => {
    const other = b.entries.get(key)
    return other !== undefined && equalsNode(part, other)
  })
}
