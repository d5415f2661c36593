// Parses the query of a URL.

/** In the values of these keys, a `+` that is a whole level is a wildcard. In other values `+` is a space. */
const keysOfTopics = new Set(['topic', '_match_topic'])
const loneWildcard = /(^|\/|%2f)\+(?=$|\/|%2f)/gi

/**
 * Maximum number of parameters in one query. The longest list of filters has 30 of them. `request-form.ts` refuses a
 * query with more, so that no endpoint sees a part of a query.
 */
export const maxQueryParameters = 128

/**
 * Returns each key with its value, decoded once; of a repeated key all values. A pair without a key or without a value is
 * ignored. Stops after `maxQueryParameters` pairs. The time is linear in the length of the text.
 */
export function readQueryString(text: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>
  for (const pair of text.split('&', maxQueryParameters)) {
    const equals = pair.indexOf('=')
    if (equals < 1 || equals === pair.length - 1) continue
    const key = decode(pair.slice(0, equals))
    const raw = pair.slice(equals + 1)
    const value = decode(keysOfTopics.has(key) ? raw.replaceAll(loneWildcard, '$1%2B') : raw)
    const before = query[key]
    if (before === undefined) query[key] = value
    else if (typeof before === 'string') query[key] = [before, value]
    else before.push(value)
  }
  return query
}

/** Returns whether the query of a URL has more than `maxQueryParameters` parameters. */
export function hasTooManyParameters(url: string): boolean {
  let at = url.indexOf('?')
  if (at === -1) return false
  for (let count = 1; count <= maxQueryParameters; count++) {
    at = url.indexOf('&', at + 1)
    if (at === -1) return false
  }
  return true
}

/** Unreserved characters, for which percent-encoding makes no difference [RFC3986-2.3]; and `$`, which is in the path `/acl/$all`. */
const plainCharacters = /^[A-Za-z0-9._~$-]$/

/** Decodes unnecessary percent-encoding in the path, so that all spellings are one path. */
export function normalizePath(url: string): string {
  const end = url.indexOf('?')
  const path = end === -1 ? url : url.slice(0, end)
  if (!path.includes('%')) return url
  const plain = path.replaceAll(/%[0-9a-f]{2}/gi, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16))
    return plainCharacters.test(character) ? character : escape
  })
  return `${plain}${url.slice(path.length)}`
}

/** Decodes a key or a value. Invalid encoding stays unchanged. */
function decode(text: string): string {
  const spaced = text.replaceAll('+', ' ')
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}
