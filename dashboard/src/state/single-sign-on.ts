// Login with a provider of OpenID Connect. The browser leaves for the provider and returns with a code in the query of the URL:
//
//   before it leaves   state, secret and page are stored in `sessionStorage` of this tab
//   when it returns    they are read and deleted, and the query is removed from the URL before the first request

/** State of a login that is stored before the browser opens the page of the provider. */
export interface BegunLogin {
  readonly state: string
  readonly secret: string
  /** Hash of the page to open after the login. */
  readonly route: string
}

/** Parameters that the provider returned. */
export interface ReturnedLogin {
  readonly code: string | undefined
  readonly state: string
  readonly iss: string | undefined
  readonly error: string | undefined
  /** undefined: the login was not started in this tab. */
  readonly begun: BegunLogin | undefined
}

const key = 'godwit.single-sign-on'

/** undefined: the browser was not redirected by a provider, or the result was taken. */
let returned = readReturn()

/** Returns the result of the provider, at the first call only. */
export function takeReturnedLogin(): ReturnedLogin | undefined {
  const taken = returned
  returned = undefined
  return taken
}

/** Stores a login before the browser leaves for the provider. */
export function storeBegunLogin(begun: BegunLogin): void {
  sessionStorage.setItem(key, JSON.stringify(begun))
}

function readReturn(): ReturnedLogin | undefined {
  const query = new URLSearchParams(location.search)
  const state = query.get('state')
  if (state === null) return undefined
  const kept = sessionStorage.getItem(key)
  sessionStorage.removeItem(key)
  const found = kept === null ? undefined : (JSON.parse(kept) as BegunLogin)
  // The code of a login that another tab or an attacker started must not be used.
  const begun = found?.state === state ? found : undefined
  history.replaceState(undefined, '', location.pathname)
  // The router may have read the URL already, and notices this change.
  if (begun?.route.startsWith('#/') === true) location.replace(begun.route)
  const readText = (name: string): string | undefined => query.get(name) ?? undefined
  return { code: readText('code'), state, iss: readText('iss'), error: readText('error'), begun }
}
