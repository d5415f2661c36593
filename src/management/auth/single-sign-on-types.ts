import type { Caller } from '../../contract/index.ts'

/** What a browser brings back from the provider, and the secret that it was given before. */
export interface SsoResponse {
  readonly code: string
  readonly state: string
  readonly secret: string
  /** `iss` [RFC9207-2]. */
  readonly issuer: string | undefined
}

/** `refused`: not authenticated; `denied`: authenticated, and without an account here. `message`: a sentence. */
export interface SsoFailure {
  readonly kind: 'off' | 'busy' | 'provider' | 'refused' | 'denied'
  readonly message: string
}

export interface SsoBegun {
  /** URL to which the browser is redirected. */
  readonly url: string
  readonly state: string
  /** The browser that starts the login must present it at the end. */
  readonly secret: string
  /** URL to which the provider redirects the browser. */
  readonly redirectUri: string
}

/** Login by a provider of OpenID Connect. */
export interface SingleSignOn {
  isOn(): boolean
  /** `address`: of the client, each of which can begin a limited number. */
  begin(address: string): Promise<SsoBegun | SsoFailure>
  finish(response: SsoResponse, address: string): Promise<Omit<Caller, 'address'> | SsoFailure>
}
