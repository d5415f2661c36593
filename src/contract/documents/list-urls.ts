// URLs of an operation.

import type { Endpoint } from '../definition/endpoint.ts'

/** Absolute paths with `:name` for parameters; the first is preferred. */
export function listUrls({ version, path, atRoot }: Pick<Endpoint, 'version' | 'path' | 'atRoot'>): string[] {
  const prefix = `/api/${version ?? 'v4'}`
  const below = path === '/' ? prefix : `${prefix}${path}`
  if (atRoot === 'only') return [path]
  return atRoot === 'also' ? [below, path] : [below]
}

/** Heading of the operation in documents: the start of its path. */
export function deriveTag({ version, path, atRoot }: Pick<Endpoint, 'version' | 'path' | 'atRoot'>): string {
  const [, first = ''] = path.split('/')
  if (version !== undefined) return `${version} ${first}`
  return first === '' || atRoot === 'only' ? 'about' : first
}
