// Where an operation is served.

import type { Endpoint } from '../endpoint.ts'

/** Paths from the root on, with `:name` for parameters; the first is the one to use. */
export function urlsOf({ version, path, atRoot }: Pick<Endpoint, 'version' | 'path' | 'atRoot'>): string[] {
  const prefix = `/api/${version ?? 'v4'}`
  const below = path === '/' ? prefix : `${prefix}${path}`
  if (atRoot === 'only') return [path]
  return atRoot === 'also' ? [below, path] : [below]
}

/** Under which heading documents have it: what its path begins with. */
export function tagOf({ version, path, atRoot }: Pick<Endpoint, 'version' | 'path' | 'atRoot'>): string {
  const [, first = ''] = path.split('/')
  if (version !== undefined) return `${version} ${first}`
  return first === '' || atRoot === 'only' ? 'about' : first
}
