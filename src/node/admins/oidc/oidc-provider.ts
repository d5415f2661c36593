// The client of a provider of OpenID Connect. It requests the discovery document, the keys, and the token and userinfo endpoints. Redirects
// are not followed, responses are limited, and an endpoint is used only over https, or over http on loopback.

import { createHash } from 'node:crypto'
import { checkToken, type HttpClient, readTokenHeader, readTokenKeys, type TokenKey } from '../../../access/index.ts'
import { isSafeAddress, type OidcConfig } from '../../../config/index.ts'

/** The end of a sentence that begins with "the provider". */
export interface ProviderFailure {
  readonly failure: string
}

export type ProviderClaims = Readonly<Record<string, unknown>>

export interface ProviderDependencies {
  readonly http: Pick<HttpClient, 'send'>
  /** Wall clock. */
  readonly nowMs: () => number
}

/** The fields of the discovery document that are used [OIDC-Discovery-3]. */
interface Metadata {
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly jwksUri: string
  readonly userinfoEndpoint: string | undefined
  readonly takesBasic: boolean
  /** [RFC9207-3] */
  readonly sendsIssuer: boolean
}

interface Kept<Value> {
  readonly value: Value | ProviderFailure
  readonly atMs: number
}

/** Time for which the discovery document and the keys are cached. */
const metadataMs = 3_600_000
/** After a failure, no further request is sent to the provider for this time, however many users log in. */
const failureMs = 5_000
/** Minimum interval of requests for the keys. A token with an unknown key causes a request. */
const keysMs = 60_000
const leewayMs = 30_000
const maxTokenBytes = 16_384
const maxKeys = 64

export class OidcProvider {
  readonly config: OidcConfig
  readonly #dependencies: ProviderDependencies
  #metadata: Kept<Metadata> | undefined
  #keys: Kept<readonly TokenKey[]> | undefined

  constructor(config: OidcConfig, dependencies: ProviderDependencies) {
    this.config = config
    this.#dependencies = dependencies
    this.#metadata = undefined
    this.#keys = undefined
  }

  /** Returns the URL at the provider that the browser opens. */
  async authorizationUrl(request: {
    readonly state: string
    readonly nonce: string
    readonly verifier: string
  }): Promise<string | ProviderFailure> {
    const metadata = await this.#discover()
    if ('failure' in metadata) return metadata
    const { clientId, redirectUri, scopes } = this.config
    const url = new URL(metadata.authorizationEndpoint)
    const parameters = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      scope: scopes.join(' '),
      state: request.state,
      nonce: request.nonce,
      // [RFC7636-4.2]
      code_challenge: createHash('sha256').update(request.verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }

  /** Exchanges a code for the claims of its user. `issuer`: the parameter `iss` of the address to which the provider redirected the browser. */
  async claimsFor(shown: {
    readonly code: string
    readonly issuer: string | undefined
    readonly nonce: string
    readonly verifier: string
  }): Promise<ProviderClaims | ProviderFailure> {
    const metadata = await this.#discover()
    if ('failure' in metadata) return metadata
    // A code of another provider must not be sent to this provider [RFC9207-2.4].
    const isOther = shown.issuer === undefined ? metadata.sendsIssuer : shown.issuer !== this.config.issuer
    if (isOther) return { failure: 'is not the provider with which the login started' }
    const tokens = await this.#redeem(metadata, shown.code, shown.verifier)
    if ('failure' in tokens) return tokens
    const claims = await this.#verify(metadata, tokens.idToken, shown.nonce)
    if ('failure' in claims) return claims
    return this.#complete(metadata, claims, tokens.accessToken)
  }

  async #discover(): Promise<Metadata | ProviderFailure> {
    const { nowMs } = this.#dependencies
    const kept = this.#metadata
    if (kept !== undefined && nowMs() - kept.atMs < ('failure' in kept.value ? failureMs : metadataMs))
      return kept.value
    const found = await this.#getJson(`${this.config.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
    const value = 'failure' in found ? found : readMetadata(found.json, this.config.issuer)
    // If the request fails, the previous document is used.
    if ('failure' in value && kept !== undefined && !('failure' in kept.value)) return kept.value
    this.#metadata = { value, atMs: nowMs() }
    return value
  }

  async #redeem(
    { tokenEndpoint, takesBasic }: Metadata,
    code: string,
    verifier: string,
  ): Promise<{ readonly idToken: string; readonly accessToken: string | undefined } | ProviderFailure> {
    const { clientId, clientSecret, redirectUri } = this.config
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    })
    const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' }
    if (clientSecret !== undefined && takesBasic) headers['authorization'] = basic(clientId, clientSecret)
    else form.set('client_id', clientId)
    if (clientSecret !== undefined && !takesBasic) form.set('client_secret', clientSecret)
    const response = await this.#requestJson(tokenEndpoint, { method: 'POST', headers, body: form.toString() })
    if ('failure' in response) return response
    const { id_token: idToken, access_token: accessToken } = response.json
    if (typeof idToken !== 'string') return { failure: 'returned no ID token' }
    return { idToken, accessToken: typeof accessToken === 'string' ? accessToken : undefined }
  }

  /** [OIDC-Core-3.1.3.7] */
  async #verify(metadata: Metadata, token: string, nonce: string): Promise<ProviderClaims | ProviderFailure> {
    const header = token.length > maxTokenBytes ? undefined : readTokenHeader(token)
    if (header === undefined) return { failure: 'sent an ID token that is malformed' }
    const keys = await this.#keysFor(metadata, header)
    if ('failure' in keys) return keys
    const nowMs = this.#dependencies.nowMs()
    let problem = `signed the ID token with ${header.algorithm} and a key that it does not publish`
    for (const key of keys) {
      const checked = await checkToken(token, key, { nowMs, leewayMs })
      if ('claims' in checked) return this.#checkClaims(checked.claims, nonce, nowMs)
      problem = `sent an invalid ID token: ${checked.problem}`
    }
    return { failure: problem }
  }

  #checkClaims(claims: ProviderClaims, nonce: string, nowMs: number): ProviderClaims | ProviderFailure {
    const { issuer, clientId } = this.config
    const { iss, aud, azp, iat, sub } = claims
    if (iss !== issuer) return wrongClaim('iss')
    const audiences = Array.isArray(aud) ? (aud as unknown[]) : [aud]
    if (!audiences.includes(clientId)) return wrongClaim('aud')
    if ((audiences.length > 1 || azp !== undefined) && azp !== clientId) return wrongClaim('azp')
    if (claims['nonce'] !== nonce) return wrongClaim('nonce')
    if (typeof iat !== 'number' || iat * 1_000 > nowMs + leewayMs) return wrongClaim('iat')
    return typeof sub === 'string' && sub !== '' ? claims : wrongClaim('sub')
  }

  async #keysFor(
    { jwksUri }: Metadata,
    header: { readonly algorithm: string; readonly keyId: string | undefined },
  ): Promise<readonly TokenKey[] | ProviderFailure> {
    const { nowMs } = this.#dependencies
    const fitting = (keys: readonly TokenKey[]): readonly TokenKey[] =>
      keys.filter(
        ({ algorithms, keyId }) =>
          algorithms.includes(header.algorithm) &&
          (keyId === undefined || header.keyId === undefined || keyId === header.keyId),
      )
    const kept = this.#keys
    const ageMs = kept === undefined ? Infinity : nowMs() - kept.atMs
    if (kept !== undefined && !('failure' in kept.value) && ageMs < metadataMs) {
      const found = fitting(kept.value)
      if (found.length > 0 || ageMs < keysMs) return found
    }
    if (kept !== undefined && 'failure' in kept.value && ageMs < failureMs) return kept.value
    const response = await this.#getJson(jwksUri)
    const value = 'failure' in response ? response : keysIn(response.json)
    this.#keys = { value, atMs: nowMs() }
    return 'failure' in value ? value : fitting(value)
  }

  /** Adds the claims of the userinfo endpoint, because some providers have names and roles only there [OIDC-Core-5.3]. */
  async #complete(
    { userinfoEndpoint }: Metadata,
    claims: ProviderClaims,
    accessToken: string | undefined,
  ): Promise<ProviderClaims | ProviderFailure> {
    const { usernameClaim, roleClaim } = this.config
    const isComplete = [usernameClaim, roleClaim].every((name) => claimAt(claims, name) !== undefined)
    if (isComplete || userinfoEndpoint === undefined || accessToken === undefined) return claims
    const response = await this.#getJson(userinfoEndpoint, { authorization: `Bearer ${accessToken}` })
    if ('failure' in response) return response
    // [OIDC-Core-5.3.2]
    if (response.json['sub'] !== claims['sub']) return { failure: 'returned another user at its userinfo endpoint' }
    return { ...response.json, ...claims }
  }

  #getJson(url: string, headers: Readonly<Record<string, string>> = {}): Promise<JsonResponse | ProviderFailure> {
    return this.#requestJson(url, { method: 'GET', headers, body: undefined })
  }

  async #requestJson(
    url: string,
    request: {
      readonly method: 'GET' | 'POST'
      readonly headers: Readonly<Record<string, string>>
      readonly body: string | undefined
    },
  ): Promise<JsonResponse | ProviderFailure> {
    const headers = { accept: 'application/json', ...request.headers }
    const response = await this.#dependencies.http.send({ url: new URL(url), ...request, headers }, () => true)
    if ('failure' in response) return response
    const json = objectIn(response.body)
    if (response.status !== 200) {
      const { error } = json ?? {}
      const errorCode = typeof error === 'string' && /^[\w.-]{1,64}$/.test(error) ? ` (${error})` : ''
      return { failure: `returned status ${response.status}${errorCode}` }
    }
    return json === undefined ? { failure: 'returned no JSON object' } : { json }
  }
}

function wrongClaim(claim: string): ProviderFailure {
  return { failure: `sent an ID token with a wrong claim ${claim}` }
}

interface JsonResponse {
  readonly json: Readonly<Record<string, unknown>>
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}

function readMetadata(json: Readonly<Record<string, unknown>>, issuer: string): Metadata | ProviderFailure {
  // [OIDC-Discovery-4.3]
  if (json['issuer'] !== issuer) {
    return { failure: 'has another issuer in its discovery document than dashboard.oidc.issuer' }
  }
  const address = (name: string): string | undefined => {
    const value = json[name]
    return typeof value === 'string' && isSafeAddress(value) ? value : undefined
  }
  const authorizationEndpoint = address('authorization_endpoint')
  const tokenEndpoint = address('token_endpoint')
  const jwksUri = address('jwks_uri')
  if (authorizationEndpoint === undefined || tokenEndpoint === undefined || jwksUri === undefined) {
    const names = 'authorization_endpoint, token_endpoint or jwks_uri'
    return { failure: `has no safe ${names} in its discovery document` }
  }
  const methods = json['token_endpoint_auth_methods_supported']
  return {
    authorizationEndpoint,
    tokenEndpoint,
    jwksUri,
    userinfoEndpoint: address('userinfo_endpoint'),
    takesBasic: !Array.isArray(methods) || methods.includes('client_secret_basic'),
    sendsIssuer: json['authorization_response_iss_parameter_supported'] === true,
  }
}

/** Returns the usable keys. Keys of other types are skipped, because providers also publish keys for other purposes. */
function keysIn(json: Readonly<Record<string, unknown>>): readonly TokenKey[] | ProviderFailure {
  const entries: unknown = json['keys']
  if (!Array.isArray(entries)) return { failure: 'publishes no JSON Web Key Set' }
  return entries.slice(0, maxKeys).flatMap((entry) => {
    const read = readTokenKeys({ kind: 'jwks', text: JSON.stringify({ keys: [entry] }) })
    return 'problem' in read ? [] : read.keys
  })
}

/** [RFC6749-2.3.1] */
function basic(clientId: string, secret: string): string {
  const encoded = [clientId, secret].map((text) => new URLSearchParams([['', text]]).toString().slice(1))
  return `Basic ${Buffer.from(encoded.join(':')).toString('base64')}`
}

/** Returns a claim by its name, or by a path of names separated by dots. */
export function claimAt(claims: ProviderClaims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[part]
  }
  return value
}
