// Sign-in at a provider of OpenID Connect. What the browser comes back with leaves the address at the start, before any request. The secret of a sign-in that has begun is in `sessionStorage` of this tab until then.

/** What was kept when the browser left for the provider. */
export interface BegunSignIn {
  readonly state: string
  readonly secret: string
  /** The hash of the page that was wanted. */
  readonly route: string
}

export interface ReturnedSignIn {
  readonly code: string | undefined
  readonly state: string
  readonly iss: string | undefined
  readonly error: string | undefined
  /** undefined: it has not begun in this tab. */
  readonly begun: BegunSignIn | undefined
}

const key = 'godwit.single-sign-on'

/** undefined: the browser does not come from a provider. Taken once. */
let returned = readReturn()

export function takeReturned(): ReturnedSignIn | undefined {
  const taken = returned
  returned = undefined
  return taken
}

export function keepBegun(begun: BegunSignIn): void {
  sessionStorage.setItem(key, JSON.stringify(begun))
}

function readReturn(): ReturnedSignIn | undefined {
  const query = new URLSearchParams(location.search)
  const state = query.get('state')
  if (state === null) return undefined
  const kept = sessionStorage.getItem(key)
  sessionStorage.removeItem(key)
  const found = kept === null ? undefined : (JSON.parse(kept) as BegunSignIn)
  // Another sign-in than the one that began here: its code is of no use, and may be of somebody else.
  const begun = found?.state === state ? found : undefined
  history.replaceState(undefined, '', location.pathname)
  // The router may have read the address already: this tells it.
  if (begun?.route.startsWith('#/') === true) location.replace(begun.route)
  const text = (name: string): string | undefined => query.get(name) ?? undefined
  return { code: text('code'), state, iss: text('iss'), error: text('error'), begun }
}
