// Current page and its parameters: `#/clients/<id>?search=x`. Parts of the path are percent-encoded once. Filters and pages are in the query, so
// that a reload, back and forward keep them.

import { computed, signal } from '@preact/signals'

export interface Route {
  /** `['clients', '<id>']` */
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

export const route = signal<Route>(parseRoute(location.hash))
/** Pages with a choice of the namespace. Other pages keep the choice, but do not use it in their requests. */
const namespacedPages: ReadonlySet<string> = new Set([
  'access',
  'audit',
  'backup',
  'clients',
  'dropped',
  'retained',
  'rules',
  'slow',
  'subscriptions',
  'trace',
])

export function isForNamespaces(page: string): boolean {
  return namespacedPages.has(page)
}

/** Of the page that is open. */
export const namespaceInRoute = computed(() => {
  const { path, query } = route.value
  return isForNamespaces(path[0] ?? '') ? query['namespace'] : undefined
})

addEventListener('hashchange', () => {
  route.value = parseRoute(location.hash)
})

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s)
  const parts = path.split('/').filter((part) => part !== '')
  return { path: parts.map(decodePart), query: Object.fromEntries(new URLSearchParams(query)) }
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // An invalid percent-encoding in a typed URL: the text is used unchanged.
    return part
  }
}

/** For `href`. The chosen namespace stays. */
export function formatLink(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const namespace = route.value.query['namespace']
  return formatHash({ path, query: namespace === undefined ? query : { namespace, ...query } })
}

function formatHash({ path, query }: Route): string {
  const search = new URLSearchParams(query).toString()
  const where = `#/${path.map((part) => encodeURIComponent(part)).join('/')}`
  return search === '' ? where : `${where}?${search}`
}

/** Changes parts of the query; undefined and '' take one out. The place in the history stays the same. */
export function changeQuery(change: Readonly<Record<string, string | undefined>>): void {
  const { path, query } = route.value
  const next: Record<string, string> = {}
  for (const [key, value] of Object.entries({ ...query, ...change })) {
    if (value !== undefined && value !== '') next[key] = value
  }
  route.value = { path, query: next }
  history.replaceState(undefined, '', formatHash(route.value))
}

export function readQueryValue(key: string): string {
  return route.value.query[key] ?? ''
}
