// Where an operation is served.

import type { Endpoint } from '../endpoint.ts'

const prefix = '/api/v4'

/** Paths from the root on, with `:name` for parameters; the first is the one to use. */
export function urlsOf({ path, atRoot }: Pick<Endpoint, 'path' | 'atRoot'>): string[] {
  const below = path === '/' ? prefix : `${prefix}${path}`
  if (atRoot === 'only') return [path]
  return atRoot === 'also' ? [below, path] : [below]
}

/** Under which heading documents have it: what its path begins with. */
export function tagOf({ path, atRoot }: Pick<Endpoint, 'path' | 'atRoot'>): string {
  const [, first = ''] = path.split('/')
  return first === '' || atRoot === 'only' ? 'about' : first
}
