// The library of OpenID Connect. It is loaded for the first login: brokers without single sign-on need neither its code nor the `Response` of Node,
// which loads an HTTP client of its own.

import type * as library from 'openid-client'

export type { ClientAuth, Configuration, CustomFetch } from 'openid-client'

export type OidcLibrary = typeof library

export function loadOidcLibrary(): Promise<OidcLibrary> {
  return import('openid-client')
}
