// Whether the settings of `dashboard.oidc` fit together.

import { createConfigError, type ConfigError } from '../hocon/config-errors.ts'
import type { SettingValues } from '../settings/root.ts'
import type { Position } from '../hocon/config-values.ts'

const roleForm = /^(ns:[A-Za-z0-9][A-Za-z0-9_.-]{0,127}::)?(administrator|viewer)$/

/** A provider that responds over plain HTTP can be impersonated, except on this machine. */
export function isSafeAddress(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname } = new URL(address)
  if (protocol === 'https:') return true
  return protocol === 'http:' && (hostname === 'localhost' || hostname === '[::1]' || /^127\.[\d.]+$/.test(hostname))
}

export function checkOidc(
  { oidc }: SettingValues['dashboard'],
  places: ReadonlyMap<string, Position>,
): readonly ConfigError[] {
  if (oidc.issuer === undefined) return []
  const errors: ConfigError[] = []
  const complain = (key: string, message: string, hint: string): void => {
    const at = places.get(`dashboard.oidc.${key}`) ?? places.get('dashboard.oidc.issuer')
    const nowhere = { file: 'configuration', line: 0, column: 0 }
    errors.push(createConfigError(at ?? nowhere, `dashboard.oidc.${key}`, message, hint))
  }
  if (!isSafeAddress(oidc.issuer)) complain('issuer', 'it is not safe', 'use https, or http on loopback')
  for (const key of ['client_id', 'redirect_uri'] as const) {
    if (oidc[key] === undefined) complain(key, 'it is missing', 'set it, or take out dashboard.oidc.issuer')
  }
  if (oidc.redirect_uri !== undefined && !isPage(oidc.redirect_uri)) {
    const hint = 'give the address of the page, such as https://broker.example/dashboard/'
    complain('redirect_uri', 'it is not the address of the page over https, or over http on loopback', hint)
  }
  if (!oidc.scopes.includes('openid')) complain('scopes', 'openid is not among them', 'add it: ["openid", "profile"]')
  for (const [value, role] of oidc.roles) {
    if (roleForm.test(role)) continue
    const hint = 'use administrator, viewer, ns:NAMESPACE::administrator or ns:NAMESPACE::viewer'
    complain('roles', `${JSON.stringify(value)} has the role ${JSON.stringify(role)}, which there is not`, hint)
  }
  return errors
}

function isPage(address: string): boolean {
  return isSafeAddress(address) && new URL(address).pathname.endsWith('/dashboard/')
}
