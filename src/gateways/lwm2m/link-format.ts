// Parses the objects in a registration [LwM2M 1.1 Core 6.2.1, RFC 6690].

export interface ObjectList {
  /** Default `/`. */
  readonly alternatePath: string
  /** `/1/0`, without the alternate path. */
  readonly objects: readonly string[]
}

const maxLinks = 1_024

/** Returns undefined if the text is invalid. */
export function parseObjectList(text: string): ObjectList | undefined {
  if (text.trim() === '') return { alternatePath: '/', objects: [] }
  const links = splitLinks(text)
  if (links.length > maxLinks) return undefined
  const parsed = links.map((link) => /^\s*<([^<>]*)>\s*((?:;.*)?)$/s.exec(link))
  if (parsed.some((link) => link === null)) return undefined
  const pairs = parsed.map((link) => ({ target: link?.[1] ?? '', attributes: link?.[2] ?? '' }))
  const root = pairs.find(({ attributes }) => /;\s*rt\s*=\s*"?oma\.lwm2m"?/.test(attributes))
  const alternatePath = root === undefined || root.target === '' ? '/' : root.target
  const prefix = alternatePath === '/' ? '' : alternatePath.replace(/\/$/, '')
  const objects = pairs.flatMap(({ target }) => {
    const own = target.startsWith(prefix) ? target.slice(prefix.length) : target
    return /^\/\d{1,5}(\/\d{1,5})?\/?$/.test(own) ? [own.replace(/\/$/, '')] : []
  })
  return { alternatePath, objects }
}

/** Splits at commas outside of quotes. */
export function splitLinks(text: string): readonly string[] {
  const links: string[] = []
  let start = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') isQuoted = !isQuoted
    else if (text[at] === ',' && !isQuoted) {
      links.push(text.slice(start, at))
      start = at + 1
    }
  }
  links.push(text.slice(start))
  return links
}
