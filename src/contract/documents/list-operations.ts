// The operations as `GET /api/v4` lists them.

import type { Endpoint, Method } from '../definition/endpoint.ts'

export interface ListedEndpoint {
  /** Below `/api/v4`. */
  readonly path: string
  readonly name: string
  readonly method: Method
  readonly descr: string
}

/** Operations below `/api/v4`, in their order. */
export function listOperations(endpoints: Readonly<Record<string, Endpoint>>): ListedEndpoint[] {
  const below = Object.entries(endpoints).filter(
    ([, { version, atRoot }]) => version === undefined && atRoot !== 'only',
  )
  return below.map(([name, { path, method, summary }]) => ({ path, name, method, descr: summary }))
}
