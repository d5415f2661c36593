// Login by OpenID Connect. The browser gets the address of the provider and a secret. No address contains the secret, so only the browser
// that started a login can complete it.
//
//   begin ──► {url, state, secret}      kept: state ─► secret, nonce, verifier, for ten minutes, once
//   provider ─► page?code&state
//   finish {code, state, secret} ──► ID token ──► name and role ──► account

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { OidcConfig } from '../../../config/index.ts'
import type { LoggedIn, SingleSignOn, SsoResponse, SsoFailure } from '../../../management/index.ts'
import { findClaim, type OidcProvider, type ProviderClaims } from './oidc-provider.ts'

interface PendingLogin {
  readonly provider: OidcProvider
  readonly address: string
  readonly secretDigest: Buffer
  readonly nonce: string
  readonly verifier: string
  readonly atMs: number
}

const pendingMs = 600_000
/** Maximum number of pending logins of one address. At the maximum, the oldest is dropped. */
const maxOfAddress = 32
/** Maximum number of pending logins of all addresses. At the maximum, a new one is refused. */
const maxPending = 4_096
const randomLength = 32
const maxNameLength = 256
const maxValues = 1_000

export interface OidcLoginDependencies {
  /** The currently configured provider; undefined: login is disabled. */
  readonly readProvider: () => OidcProvider | undefined
  /** Creates or changes the account. A text: the end of a sentence that begins with the name. */
  readonly admit: (user: OidcUser, address: string) => Promise<LoggedIn | string>
  /** A clock that never decreases. */
  readonly nowMs: () => number
}

export interface OidcUser extends Pick<LoggedIn, 'namespace'> {
  readonly name: string
  readonly role: 'administrator' | 'viewer'
}

export function createOidcLogin({ readProvider: current, admit, nowMs }: OidcLoginDependencies): SingleSignOn {
  /** By state, the oldest first. */
  const pending = new Map<string, PendingLogin>()
  return {
    isOn: () => current() !== undefined,
    begin: async (address) => {
      const provider = current()
      if (provider === undefined) return notConfigured
      dropOld(pending, nowMs())
      removeOldestOfAddress(pending, address)
      if (pending.size >= maxPending) return { kind: 'busy', message: 'too many logins are pending: try again later' }
      const [state, secret, nonce, verifier] = [
        createRandomText(),
        createRandomText(),
        createRandomText(),
        createRandomText(),
      ]
      const kept = { provider, address, secretDigest: computeDigest(secret), nonce, verifier, atMs: nowMs() }
      pending.set(state, kept)
      const url = await provider.createAuthorizationUrl({ state, nonce, verifier })
      if (typeof url === 'string') return { url, state, secret, redirectUri: provider.config.redirectUri }
      pending.delete(state)
      return { kind: 'provider', message: `the provider ${url.failure}` }
    },
    finish: async (response, address) => {
      const known = pending.get(response.state)
      const isOwn = known !== undefined && timingSafeEqual(known.secretDigest, computeDigest(response.secret))
      // A login stays valid if another browser shows its state.
      if (isOwn) pending.delete(response.state)
      const isInTime = known !== undefined && nowMs() - known.atMs < pendingMs
      if (!isOwn || !isInTime || known.provider !== current()) return unknownLogin
      return finishLogin(known, response, { admit, address })
    },
  }
}

const notConfigured: SsoFailure = { kind: 'off', message: 'login by OpenID Connect is disabled: set dashboard.oidc' }
const unknownLogin: SsoFailure = {
  kind: 'refused',
  message: 'this login was not started in this browser, took too long, or was completed already: start again',
}

interface FinishDependencies extends Pick<OidcLoginDependencies, 'admit'> {
  readonly address: string
}

async function finishLogin(
  { provider, nonce, verifier }: PendingLogin,
  { code, issuer }: SsoResponse,
  { admit, address }: FinishDependencies,
): Promise<LoggedIn | SsoFailure> {
  const found = await provider.exchangeCode({ code, issuer, nonce, verifier })
  if ('failure' in found) return { kind: 'refused', message: `the provider ${found.failure}` }
  const user = toOidcUser(found.claims, provider.config)
  if ('kind' in user) return user
  const admitted = await admit(user, address)
  return typeof admitted === 'string'
    ? { kind: 'denied', message: `${JSON.stringify(user.name)} ${admitted}` }
    : admitted
}

/** Returns name and role by the claims of a token that was verified. */
export function toOidcUser(claims: ProviderClaims, config: OidcConfig): OidcUser | SsoFailure {
  const { usernameClaim, roleClaim, roles, defaultRole } = config
  const name = findClaim(claims, usernameClaim)
  if (typeof name !== 'string' || name === '' || name.length > maxNameLength || /\p{C}/u.test(name)) {
    return { kind: 'denied', message: `the provider sent no user name in the claim ${usernameClaim}` }
  }
  const roleClaimValue = findClaim(claims, roleClaim)
  const values = new Set<unknown>(Array.isArray(roleClaimValue) ? roleClaimValue.slice(0, maxValues) : [roleClaimValue])
  const [, role = defaultRole] = roles.find(([value]) => values.has(value)) ?? []
  if (role === 'none') {
    return { kind: 'denied', message: `${JSON.stringify(name)} has no role here by the claim ${roleClaim}` }
  }
  const [, namespace, plain = role] = /^ns:(.*)::(\w+)$/.exec(role) ?? []
  return { name, role: plain === 'administrator' ? 'administrator' : 'viewer', namespace }
}

function createRandomText(): string {
  return randomBytes(randomLength).toString('base64url')
}

function computeDigest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

function dropOld(pending: Map<string, PendingLogin>, nowMs: number): void {
  for (const [state, { atMs }] of pending) {
    if (nowMs - atMs < pendingMs) return
    pending.delete(state)
  }
}

function removeOldestOfAddress(pending: Map<string, PendingLogin>, address: string): void {
  const ofAddress = [...pending].filter(([, each]) => each.address === address)
  const [oldest] = ofAddress
  if (oldest !== undefined && ofAddress.length >= maxOfAddress) pending.delete(oldest[0])
}
