// The URL of a request: the URL of the connector with the path of the action. Both may have a query.
//
//   http://host/in?key=1  +  /kiln?n=2  ->  http://host/in/kiln?key=1&n=2

/** Returns the path and the query of the request; undefined if the URL is invalid or has another host. */
export function joinPath(base: URL, path: string): string | undefined {
  const separator = path === '' || path.startsWith('/') || path.startsWith('?') ? '' : '/'
  const url = URL.parse(base.origin + base.pathname.replace(/\/$/, '') + separator + path)
  if (url === null || url.host !== base.host) return undefined
  return url.pathname + joinQueries(base.search, url.search)
}

/** Each is empty, or begins with `?`. */
function joinQueries(first: string, second: string): string {
  if (first.length <= 1) return second
  return second.length <= 1 ? first : `${first}&${second.slice(1)}`
}
