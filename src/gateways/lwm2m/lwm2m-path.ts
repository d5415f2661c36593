// `/3/0/9`: object, instance, resource, instance of a resource [LwM2M 1.1 Core 7.3].

export type ObjectPath = readonly number[]

const maxId = 65_534
const maxDepth = 4

/** Undefined: invalid. `/` has depth 0. */
export function parsePath(text: string): ObjectPath | undefined {
  const parts = text.split('/').filter((part) => part !== '')
  if (!text.startsWith('/') || parts.length > maxDepth) return undefined
  const ids = parts.map((part) => (/^\d{1,5}$/.test(part) ? Number(part) : maxId + 1))
  return ids.every((id) => id <= maxId) ? ids : undefined
}

export function formatPath(path: ObjectPath): string {
  return `/${path.join('/')}`
}
