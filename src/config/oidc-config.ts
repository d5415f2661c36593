// Login by OpenID Connect, from `dashboard.oidc`.

import { readSettingFields, type SettingFields } from './schema/setting-fields.ts'
import { dashboard } from './settings/dashboard.ts'
import type { SettingValues } from './settings/root.ts'

const { oidc: oidcSection } = dashboard.entries

/** `dashboard.oidc` */
export interface OidcConfig extends SettingFields<typeof oidcSection.entries> {
  readonly issuer: string
  readonly clientId: string
  readonly redirectUri: string
  /** Pairs of a value of the claim and a role, in order. */
  readonly roles: readonly (readonly [value: string, role: string])[]
}

export function toOidcConfig(oidc: SettingValues['dashboard']['oidc']): OidcConfig | undefined {
  const { issuer, client_id: clientId, redirect_uri: redirectUri } = oidc
  // If one of them is missing, `checkOidc` reports an error.
  if (issuer === undefined || clientId === undefined || redirectUri === undefined) return undefined
  return { ...readSettingFields(oidcSection.entries, oidc), issuer, clientId, redirectUri, roles: [...oidc.roles] }
}
