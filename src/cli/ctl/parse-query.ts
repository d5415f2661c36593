// Converts the `KEY=VALUE` arguments of a command into the query of an endpoint. The keys are the names of its query parameters.

import type { Endpoint } from '../../contract/index.ts'
import { type EndpointName, endpoints } from '../../api/endpoints.ts'

/** Returns the query, or a sentence about the first invalid argument. */
export function parseQuery(
  name: EndpointName,
  operands: readonly string[],
): { readonly query: Record<string, never> } | { readonly usage: string } {
  const { query: schema }: Endpoint = endpoints[name]
  const known = Object.keys(schema?.properties ?? {})
  const query: Record<string, string> = {}
  for (const operand of operands) {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(operand) ?? []
    if (key === undefined || value === undefined) return { usage: `${operand}: give filters as KEY=VALUE` }
    if (!known.includes(key)) return { usage: `${key}: unknown filter; use ${known.join(', ')}` }
    query[key] = value
  }
  // All values are text in a URL. The broker checks them.
  return { query: query as Record<string, never> }
}
