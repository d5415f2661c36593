// Authorization of clients: section auth, with the rules of its file.

import type { AclRule } from './acl/acl-rule.ts'
import { readSettingFields, type SettingFields } from './schema/setting-fields.ts'
import { aclDecisions, authorizationCache } from './settings/acl.ts'
import type { SettingValues } from './settings/root.ts'

export interface AclConfig
  extends SettingFields<typeof aclDecisions>, SettingFields<typeof authorizationCache.entries> {
  /** Rules of the configuration, followed by those of the file. */
  readonly rules: readonly AclRule[]
  /** Path, as written in the configuration. */
  readonly file: string | undefined
  readonly noMatch: 'allow' | 'deny'
  /** A service decides if no rule matches. */
  readonly usesService: boolean
  /** Lifetime of a cached decision of the service. */
  readonly decisionTtlMs: number
}

export function toAclConfig({ auth, modules, node }: SettingValues, fileRules: readonly AclRule[]): AclConfig {
  const { acl, cache, http_auth: service } = auth
  const usesService = service.enable && service.acl_req.url !== undefined
  // If any rule is configured, actions without a rule are denied.
  const hasRules = acl.rules.length > 0 || acl.file !== undefined || service.acl_req.url !== undefined
  const defaultNoMatch = node.security_profile === 'hardened' && hasRules ? 'deny' : 'allow'
  return {
    ...readSettingFields(aclDecisions, auth),
    ...readSettingFields(authorizationCache.entries, cache),
    rules: modules.acl_internal ? [...acl.rules, ...fileRules] : [],
    file: acl.file,
    noMatch: auth.no_match ?? defaultNoMatch,
    usesService,
    decisionTtlMs: service.cache_ttl > 0 ? service.cache_ttl : cache.ttl,
  }
}
