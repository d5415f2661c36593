// Typed settings of authentication, and checks across several of them.

import { createConfigError, quoteForMessage, type ConfigError } from './hocon/config-errors.ts'
import type { Position } from './hocon/config-values.ts'
import { readDefaultFields, readSettingFields, type SettingFields } from './schema/setting-fields.ts'
import { auth as authSection } from './settings/auth.ts'
import { authenticators, type authenticatorValues, type scramAlgorithmValues } from './settings/authenticators.ts'
import type { SettingValues } from './settings/root.ts'

export type AuthenticatorValue = (typeof authenticatorValues)[number]
export type ScramAlgorithm = (typeof scramAlgorithmValues)[number]

export interface ConfiguredCredential {
  readonly by: 'username' | 'clientid'
  readonly id: string
  readonly password: string
  readonly isSuperuser: boolean
}

export interface ConfiguredScramUser {
  readonly username: string
  readonly password: string
  readonly algorithm: ScramAlgorithm
  readonly isSuperuser: boolean
}

const {
  failed_logins: failedLogins,
  jwt: jwtSection,
  http_auth: httpSection,
  scram: scramSection,
} = authSection.entries
const { auth_req: requestSection } = httpSection.entries

/** Settings of JSON Web Tokens of clients. */
export interface JwtConfig extends SettingFields<typeof jwtSection.entries> {
  /** One of these; for a file, its content. */
  readonly key:
    | { readonly kind: 'secret'; readonly secret: Uint8Array }
    /** `public-key`: PEM. `jwks`: a JSON Web Key Set [RFC7517-5]. */
    | { readonly kind: 'public-key' | 'jwks'; readonly text: string }
  /** Claims with their required values, with placeholders. */
  readonly claims: readonly (readonly [claim: string, pattern: string])[]
}

export interface HttpRequestConfig extends SettingFields<typeof requestSection.entries> {
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** With placeholders. */
  readonly params: readonly (readonly [name: string, value: string])[]
}

/** Timeouts and limits of the requests to the HTTP service. */
export type HttpAuthLimits = SettingFields<typeof httpSection.entries>

export interface HttpAuthConfig extends HttpAuthLimits {
  readonly authRequest: HttpRequestConfig | undefined
  readonly superRequest: HttpRequestConfig | undefined
  readonly aclRequest: HttpRequestConfig | undefined
}

/** auth.failed_logins */
export type FailedLoginConfig = SettingFields<typeof failedLogins.entries>

export const defaultFailedLoginConfig: FailedLoginConfig = readDefaultFields(failedLogins.entries)

export interface AuthConfig extends SettingFields<typeof authenticators> {
  readonly failedLogins: FailedLoginConfig
  /** Undefined: it depends on the profile and on the address of the client. */
  readonly allowAnonymous: boolean | undefined
  readonly credentials: readonly ConfiguredCredential[]
  /** Undefined: disabled. */
  readonly certificate: { readonly username: 'common_name' | 'subject' | 'serial_number' | 'fingerprint' } | undefined
  readonly isPskEnough: boolean
  /** Undefined: disabled. */
  readonly scram:
    | (SettingFields<typeof scramSection.entries> & { readonly users: readonly ConfiguredScramUser[] })
    | undefined
  /** Undefined: disabled, or not configured. */
  readonly jwt: JwtConfig | undefined
  readonly http: HttpAuthConfig | undefined
}

type AuthValues = SettingValues['auth']
type RequestValues = AuthValues['http_auth']['auth_req']

/** `tokenKeys`: content of the file for token keys. Invalid parts (see `checkAuth`) do not affect the others. */
export function toAuthConfig(
  { auth, modules }: Pick<SettingValues, 'auth' | 'modules'>,
  tokenKeys: string | undefined,
): AuthConfig {
  return {
    ...readSettingFields(authenticators, auth),
    allowAnonymous: auth.allow_anonymous,
    failedLogins: readSettingFields(failedLogins.entries, auth.failed_logins),
    credentials: [...listConfiguredCredentials(auth)].flatMap(([, credential]) =>
      isCompleteCredential(credential) ? [credential] : [],
    ),
    certificate: auth.certificate.enable ? { username: auth.certificate.username } : undefined,
    isPskEnough: auth.psk.enable && modules.psk_file,
    scram: auth.scram.enable
      ? {
          ...readSettingFields(scramSection.entries, auth.scram),
          users: [...listScramUsers(auth)].flatMap(([, user]) => (isCompleteScramUser(user) ? [user] : [])),
        }
      : undefined,
    jwt: auth.jwt.enable ? toJwtConfig(auth.jwt, tokenKeys) : undefined,
    http: auth.http_auth.enable ? toHttpAuthConfig(auth.http_auth) : undefined,
  }
}

type Optional<T> = { readonly [Key in keyof T]: T[Key] | undefined }

function* listConfiguredCredentials({
  password,
  user,
  client,
}: AuthValues): Generator<[key: string, Optional<ConfiguredCredential>]> {
  for (const [id, secret] of password.named) {
    yield [`auth.password.${id}`, { by: 'username', id, password: secret, isSuperuser: false }]
  }
  for (const [name, credential] of user.named) {
    const { username, password, is_superuser: isSuperuser } = credential
    yield [`auth.user.${name}`, { by: 'username', id: username, password, isSuperuser }]
  }
  for (const [name, credential] of client.named) {
    const { clientid, password, is_superuser: isSuperuser } = credential
    yield [`auth.client.${name}`, { by: 'clientid', id: clientid, password, isSuperuser }]
  }
}

function* listScramUsers({ scram }: AuthValues): Generator<[key: string, Optional<ConfiguredScramUser>]> {
  for (const [name, { username, password, algorithm, is_superuser: isSuperuser }] of scram.user.named) {
    yield [`auth.scram.user.${name}`, { username, password, algorithm, isSuperuser }]
  }
}

const isCompleteCredential = (credential: Optional<ConfiguredCredential>): credential is ConfiguredCredential =>
  credential.id !== undefined && credential.password !== undefined

const isCompleteScramUser = (user: Optional<ConfiguredScramUser>): user is ConfiguredScramUser =>
  user.username !== undefined && user.password !== undefined

function toJwtConfig(jwt: AuthValues['jwt'], text: string | undefined): JwtConfig | undefined {
  const key = toJwtKey(jwt, text)
  if (key === undefined) return undefined
  return { ...readSettingFields(jwtSection.entries, jwt), key, claims: [...jwt.verify_claims] }
}

function toJwtKey(jwt: AuthValues['jwt'], text: string | undefined): JwtConfig['key'] | undefined {
  if (text !== undefined) return { kind: jwt.public_key_file === undefined ? 'jwks' : 'public-key', text }
  return jwt.secret === undefined ? undefined : { kind: 'secret', secret: decodeSecret(jwt) }
}

/** Returns the setting with the keys of tokens; undefined: none. */
function findTokenKeySetting(jwt: AuthValues['jwt']): 'secret' | 'public_key_file' | 'jwks_file' | undefined {
  return (['public_key_file', 'jwks_file', 'secret'] as const).find((setting) => jwt[setting] !== undefined)
}

function decodeSecret({ secret = '', secret_encoding: encoding }: AuthValues['jwt']): Uint8Array {
  return Buffer.from(secret, encoding === 'base64' ? 'base64' : 'utf8')
}

function toHttpAuthConfig(http: AuthValues['http_auth']): HttpAuthConfig | undefined {
  const authRequest = toRequestConfig(http.auth_req)
  const superRequest = toRequestConfig(http.super_req)
  const aclRequest = toRequestConfig(http.acl_req)
  if (authRequest === undefined && superRequest === undefined && aclRequest === undefined) return undefined
  return { ...readSettingFields(httpSection.entries, http), authRequest, superRequest, aclRequest }
}

function toRequestConfig(request: RequestValues): HttpRequestConfig | undefined {
  const { url, headers, params } = request
  if (url === undefined) return undefined
  return { ...readSettingFields(requestSection.entries, request), url, headers: [...headers], params: [...params] }
}

/** A secret shorter than the hash of HS256 can be guessed offline, like a password [RFC7518-3.2]. */
const minSecretBytes = 32

type Places = ReadonlyMap<string, Position>
type ReportError = (key: string, message: string, hint: string) => void

/** Checks across several settings of `auth`. `places`: positions of the written settings. */
export function checkAuth(auth: AuthValues, places: Places): readonly ConfigError[] {
  const errors: ConfigError[] = []
  const complain: ReportError = (key, message, hint) => {
    errors.push(createConfigError(findPosition(key, places), key, message, hint))
  }
  checkConfiguredCredentials(auth, complain)
  checkScramUsers(auth, complain)
  checkJwt(auth, complain)
  checkHttp(auth, complain)
  checkChain(auth, complain)
  return errors
}

/** Returns the position of a group: that of any setting in it. */
function findPosition(key: string, places: Places): Position {
  const exact = places.get(key)
  if (exact !== undefined) return exact
  for (const [name, at] of places) if (name.startsWith(`${key}.`)) return at
  return { file: 'configuration', line: 0, column: 0 }
}

function checkConfiguredCredentials(auth: AuthValues, complain: ReportError): void {
  const enabled = auth.password.named.get('enable')
  if (enabled === 'true' || enabled === 'false')
    complain(
      'auth.password.enable',
      `auth.password is a list of users: this would be the user "enable" with the password "${enabled}"`,
      'remove the line: passwords need no setting to be checked',
    )
  const seen = new Map<string, string>()
  for (const [key, credential] of listConfiguredCredentials(auth)) {
    const word = credential.by === 'clientid' ? 'clientid' : 'username'
    if (credential.id === undefined) complain(key, `it has no ${word}`, `set ${key}.${word}`)
    else if (credential.password === undefined) complain(key, 'it has no password', `set ${key}.password`)
    else checkDuplicate(seen, `${word} ${credential.id}`, { key, id: credential.id, complain })
  }
}

function checkScramUsers(auth: AuthValues, complain: ReportError): void {
  const seen = new Map<string, string>()
  for (const [key, { username, password }] of listScramUsers(auth)) {
    if (username === undefined) complain(key, 'it has no username', `set ${key}.username`)
    else if (password === undefined) complain(key, 'it has no password', `set ${key}.password`)
    else checkDuplicate(seen, username, { key, id: username, complain })
  }
}

function checkDuplicate(
  seen: Map<string, string>,
  name: string,
  { key, id, complain }: { key: string; id: string; complain: ReportError },
): void {
  const twin = seen.get(name)
  if (twin !== undefined)
    complain(key, `${quoteForMessage(id)} has a password already, by ${twin}`, 'keep one of the two')
  else seen.set(name, key)
}

function checkJwt({ jwt }: AuthValues, complain: ReportError): void {
  const keys = [jwt.secret, jwt.public_key_file, jwt.jwks_file].filter((key) => key !== undefined)
  if (keys.length > 1) {
    // A public key is not secret: used as a secret it would let every client sign tokens.
    const hint = 'keep one of secret, public_key_file and jwks_file'
    complain('auth.jwt', 'tokens are logged in one way, and more than one key is given', hint)
  }
  if (jwt.secret === undefined) return
  if (jwt.secret_encoding === 'base64' && !/^[A-Za-z0-9+/_-]+={0,2}$/.test(jwt.secret)) {
    complain('auth.jwt.secret', 'the secret is not base64', 'write it in base64, or set secret_encoding = text')
  } else if (decodeSecret(jwt).length < minSecretBytes) {
    const message = `the secret has fewer than ${minSecretBytes} bytes`
    complain('auth.jwt.secret', message, 'use a longer one: anyone who has a token can try to guess it')
  }
}

function checkHttp({ http_auth: http }: AuthValues, complain: ReportError): void {
  for (const [name, request] of [
    ['auth_req', http.auth_req],
    ['super_req', http.super_req],
    ['acl_req', http.acl_req],
  ] as const) {
    const { url } = request
    if (url === undefined) continue
    if (!/^https?:\/\/[^/?#@\s]+/i.test(url) || !URL.canParse(url)) {
      complain(`auth.http_auth.${name}.url`, 'this is not an address of http or https', 'write http://host:port/path')
    }
    const wrong = [...request.headers].find(([header, value]) => !isHeader(header, value))
    if (wrong !== undefined) {
      complain(`auth.http_auth.${name}.headers`, `${quoteForMessage(wrong[0])} can not be sent as a header`, '')
    }
  }
}

/** True for a valid HTTP header: the name is a token, the value has no line breaks [RFC9110-5]. */
function isHeader(name: string, value: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}

function checkChain(auth: AuthValues, complain: ReportError): void {
  const { chain = [] } = auth
  const twice = chain.find((word, index) => chain.indexOf(word) !== index)
  if (twice !== undefined) complain('auth.chain', `${twice} occurs twice`, 'remove one: the second would never be used')
  if (chain.includes('jwt') && auth.jwt.enable && findTokenKeySetting(auth.jwt) === undefined) {
    complain('auth.chain', 'jwt has no key', 'set auth.jwt.secret, public_key_file or jwks_file')
  }
  if (chain.includes('http') && auth.http_auth.enable && auth.http_auth.auth_req.url === undefined) {
    complain('auth.chain', 'http has no address', 'set auth.http_auth.auth_req.url')
  }
}
