// Login by OpenID Connect, from `dashboard.oidc`.

import type { SettingValues } from './settings/root.ts'

/** `dashboard.oidc` */
export interface OidcConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly usernameClaim: string
  readonly roleClaim: string
  /** Pairs of a value of the claim and a role, in order. */
  readonly roles: readonly (readonly [value: string, role: string])[]
  readonly defaultRole: 'none' | 'viewer' | 'administrator'
}

export function toOidcConfig(oidc: SettingValues['dashboard']['oidc']): OidcConfig | undefined {
  const { issuer, client_id: clientId, redirect_uri: redirectUri } = oidc
  // If one of them is missing, `checkOidc` reports an error.
  if (issuer === undefined || clientId === undefined || redirectUri === undefined) return undefined
  return {
    issuer,
    clientId,
    clientSecret: oidc.client_secret,
    redirectUri,
    scopes: oidc.scopes,
    usernameClaim: oidc.username_claim,
    roleClaim: oidc.role_claim,
    roles: [...oidc.roles],
    defaultRole: oidc.default_role,
  }
}
