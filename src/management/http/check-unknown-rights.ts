// Refuses keys that an account endpoint does not have, but that would grant or limit rights in another API. Ignoring
// such a key would create an account with other rights than requested.

import type { Endpoint } from '../../contract/index.ts'
import { type ApiError, refuse } from './api-error.ts'

/** Tested against the key in lower case, without `_`, `-`, `.` and spaces. */
const rightsWord =
  /role|scope|permi|privil|right|admin|super|root|tag|namespace|tenant|group|team|access|acl|polic|grant|allow|deny|level|readonly|capabilit|member|profile/

const separators = /[\s_.-]/g
/** Longest key that is quoted in a response. */
const maxQuotedKey = 64

/**
 * Returns why a request about accounts is refused: an unknown key of its query or body that could mean rights. `null`
 * has no effect, as in records of the API.
 */
export function checkUnknownRights(endpoint: Endpoint, query: unknown, body: unknown): ApiError | undefined {
  if (endpoint.method === 'GET' || (endpoint.access !== 'accounts' && endpoint.access !== 'own-account'))
    return undefined
  const known = endpoint.body as { readonly properties?: object } | undefined
  return (
    checkFields('query', query, endpoint.query?.properties ?? {}) ?? checkFields('body', body, known?.properties ?? {})
  )
}

function checkFields(where: 'query' | 'body', sent: unknown, known: object): ApiError | undefined {
  if (typeof sent !== 'object' || sent === null) return undefined
  for (const [key, value] of Object.entries(sent)) {
    if (value === null || Object.hasOwn(known, key)) continue
    if (!rightsWord.test(key.toLowerCase().replaceAll(separators, ''))) continue
    const rights = ['role', 'tags', 'namespace'].filter((name) => where === 'body' && Object.hasOwn(known, name))
    const remedy = rights.length === 0 ? 'take it out' : `use ${rights.join(', ')} in the body`
    const shown = JSON.stringify(key.slice(0, maxQuotedKey))
    return refuse('invalidParameter', `${shown} in the ${where} is unknown here and could mean rights; ${remedy}`)
  }
  return undefined
}
