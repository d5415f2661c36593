// The client of a provider of OpenID Connect. The library `openid-client` does the protocol. Here: what is cached, where secrets are sent, and checks
// that are stricter than those of the library.

import type { HttpClient } from '../../../access/index.ts'
import { isSafeAddress, type OidcConfig } from '../../../config/index.ts'
import { type ClientAuth, type Configuration, loadOidcLibrary } from './oidc-library.ts'
import { callLibrary, expired, createFetch, type ProviderFailure } from './oidc-requests.ts'

export type ProviderClaims = Readonly<Record<string, unknown>>

type ClaimsOrFailure = { readonly claims: ProviderClaims } | ProviderFailure

export interface ProviderDependencies {
  readonly http: Pick<HttpClient, 'send'>
  /** Wall clock. The library reads `Date.now()`. */
  readonly nowMs: () => number
}

/** Time for which the discovery document is cached. The library caches the keys for five minutes, and requests them at most once a minute. */
const metadataMs = 3_600_000
/** After a failure, the discovery document is not requested for this time, however many users log in. */
const failureMs = 5_000
/** Clocks differ: an ID token may be issued, or valid, this time after now. It ends exactly at `exp`. */
const leewaySeconds = 30

export class OidcProvider {
  readonly config: OidcConfig
  readonly #dependencies: ProviderDependencies
  #discovered: { readonly value: Configuration | ProviderFailure; readonly untilMs: number } | undefined
  #discovery: Promise<Configuration | ProviderFailure> | undefined

  constructor(config: OidcConfig, dependencies: ProviderDependencies) {
    this.config = config
    this.#dependencies = dependencies
    this.#discovered = undefined
    this.#discovery = undefined
  }

  /** Returns the URL at the provider that the browser opens. */
  async createAuthorizationUrl(request: {
    readonly state: string
    readonly nonce: string
    readonly verifier: string
  }): Promise<string | ProviderFailure> {
    const provider = await this.#discover()
    if ('failure' in provider) return provider
    const library = await loadOidcLibrary()
    const url = library.buildAuthorizationUrl(provider, {
      redirect_uri: this.config.redirectUri,
      scope: this.config.scopes.join(' '),
      state: request.state,
      nonce: request.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(request.verifier),
      code_challenge_method: 'S256',
    })
    return url.href
  }

  /** Exchanges a code for the claims of its user. `issuer`: the parameter `iss` of the address to which the provider redirected the browser. */
  async exchangeCode(response: {
    readonly code: string
    readonly issuer: string | undefined
    readonly nonce: string
    readonly verifier: string
  }): Promise<ClaimsOrFailure> {
    const provider = await this.#discover()
    if ('failure' in provider) return provider
    const library = await loadOidcLibrary()
    // The state is checked already: it found the login. Without it here, the library requires that there is none.
    const redirect = new URL(this.config.redirectUri)
    redirect.search = new URLSearchParams({
      code: response.code,
      ...(response.issuer === undefined ? {} : { iss: response.issuer }),
    }).toString()
    const tokens = await callLibrary(() =>
      library.authorizationCodeGrant(provider, redirect, {
        expectedNonce: response.nonce,
        pkceCodeVerifier: response.verifier,
        idTokenExpected: true,
      }),
    )
    if ('failure' in tokens) return tokens
    const claims = tokens.result.claims() ?? {}
    const problem = this.#findClaimProblem(claims)
    return problem === undefined ? this.#complete(provider, claims, tokens.result.access_token) : { failure: problem }
  }

  async #discover(): Promise<Configuration | ProviderFailure> {
    if (this.#discovered !== undefined && this.#dependencies.nowMs() < this.#discovered.untilMs)
      return this.#discovered.value
    this.#discovery ??= this.#requestMetadata().finally(() => {
      this.#discovery = undefined
    })
    return this.#discovery
  }

  async #requestMetadata(): Promise<Configuration | ProviderFailure> {
    const { issuer, clientId, clientSecret, redirectUri } = this.config
    const library = await loadOidcLibrary()
    const { customFetch, clockTolerance, allowInsecureRequests, enableNonRepudiationChecks } = library
    const found = await callLibrary(() =>
      library.discovery(
        // With the issuer alone, the library accepts documents of other issuers for some hosts.
        new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`),
        clientId,
        { [clockTolerance]: leewaySeconds },
        authenticateClient(clientSecret, redirectUri),
        {
          [customFetch]: createFetch(this.#dependencies.http),
          // The library would also refuse http on loopback. `createFetch` refuses all other http. By default, the library does not verify signatures.
          execute: [allowInsecureRequests, enableNonRepudiationChecks],
        },
      ),
    )
    const value = 'failure' in found ? found : checkMetadata(found.result, issuer)
    const previous = this.#discovered?.value
    // If the request fails, the previous document is used.
    const isReplaced = !('failure' in value) || previous === undefined || 'failure' in previous
    const used = isReplaced ? value : previous
    const validMs = 'failure' in value ? failureMs : metadataMs
    this.#discovered = { value: used, untilMs: this.#dependencies.nowMs() + validMs }
    return used
  }

  /** Checks what the library does not check [OIDC-Core-3.1.3.7]. */
  #findClaimProblem({ exp, iat, azp, sub }: ProviderClaims): string | undefined {
    const nowSeconds = this.#dependencies.nowMs() / 1_000
    if (!isDate(exp)) return describeWrongClaim('exp')
    // The library applies the tolerance to `exp` too.
    if (exp <= nowSeconds) return expired
    if (!isDate(iat) || iat > nowSeconds + leewaySeconds) return describeWrongClaim('iat')
    if (azp !== undefined && azp !== this.config.clientId) return describeWrongClaim('azp')
    return sub === '' ? describeWrongClaim('sub') : undefined
  }

  /** Adds the claims of the userinfo endpoint, because some providers have names and roles only there [OIDC-Core-5.3]. */
  async #complete(provider: Configuration, claims: ProviderClaims, accessToken: string): Promise<ClaimsOrFailure> {
    const { usernameClaim, roleClaim } = this.config
    const isComplete = [usernameClaim, roleClaim].every((name) => findClaim(claims, name) !== undefined)
    const { userinfo_endpoint: endpoint } = provider.serverMetadata()
    if (isComplete || !isEndpoint(endpoint)) return { claims }
    const library = await loadOidcLibrary()
    const found = await callLibrary(() => library.fetchUserInfo(provider, accessToken, String(claims['sub'])))
    return 'failure' in found ? found : { claims: { ...found.result, ...claims } }
  }
}

/** Authenticates the broker at the token endpoint: with `client_secret_basic` unless the provider does not support it. */
function authenticateClient(clientSecret: string | undefined, redirectUri: string): ClientAuth {
  return ({ token_endpoint_auth_methods_supported: methods }, { client_id: clientId }, form, headers) => {
    // The library takes it from the redirect, without a query and normalized. It must be the text of the first request [OIDC-Core-3.1.3.2].
    form.set('redirect_uri', redirectUri)
    const takesBasic = !Array.isArray(methods) || methods.includes('client_secret_basic')
    if (clientSecret !== undefined && takesBasic)
      return headers.set('authorization', formatBasicAuthorization(clientId, clientSecret))
    form.set('client_id', clientId)
    if (clientSecret !== undefined) form.set('client_secret', clientSecret)
  }
}

/**
 * [RFC6749-2.3.1] The library also escapes `-`, `_` and `.`, which are frequent in IDs and secrets. Providers that do not decode them would refuse
 * the client.
 */
function formatBasicAuthorization(clientId: string, secret: string): string {
  const encoded = [clientId, secret].map((text) => new URLSearchParams([['', text]]).toString().slice(1))
  return `Basic ${Buffer.from(encoded.join(':')).toString('base64')}`
}

function checkMetadata(provider: Configuration, issuer: string): Configuration | ProviderFailure {
  const metadata = provider.serverMetadata()
  // [OIDC-Discovery-4.3]
  if (metadata.issuer !== issuer)
    return { failure: 'has another issuer in its discovery document than dashboard.oidc.issuer' }
  const required = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const
  const missing = required.find((name) => !isEndpoint(metadata[name]))
  return missing === undefined ? provider : { failure: `has no safe ${missing} in its discovery document` }
}

function isEndpoint(value: unknown): boolean {
  return typeof value === 'string' && isSafeAddress(value)
}

function describeWrongClaim(claim: string): string {
  return `sent an ID token with a wrong claim ${claim}`
}

/** `1e999` is a number in JSON, and would be an end that never comes. */
function isDate(seconds: unknown): seconds is number {
  return typeof seconds === 'number' && !Number.isNaN(new Date(seconds * 1_000).getTime())
}

/** Returns a claim by its name, or by a path of names separated by dots. */
export function findClaim(claims: ProviderClaims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[part]
  }
  return value
}
