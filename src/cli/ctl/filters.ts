// `key=value` words of a command, as the query of an endpoint: the keys are those of the contract.

import { type Endpoint, type EndpointName, endpoints } from '../../contract/index.ts'

/** The query, or what is wrong with a word. */
export function queryFrom(
  name: EndpointName,
  words: readonly string[],
): { readonly query: Record<string, never> } | { readonly usage: string } {
  const { query: schema }: Endpoint = endpoints[name]
  const known = Object.keys(schema?.properties ?? {})
  const query: Record<string, string> = {}
  for (const word of words) {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(word) ?? []
    if (key === undefined || value === undefined) return { usage: `${word}: give filters as KEY=VALUE` }
    if (!known.includes(key)) return { usage: `${key}: no such filter; there are ${known.join(', ')}` }
    query[key] = value
  }
  // On the way to the broker all of it is text again; there it is checked.
  return { query: query as Record<string, never> }
}
