// Authorization of clients: section auth, with the rules of its file.

import type { AclRule } from './acl/acl-rule.ts'
import type { SettingValues } from './settings/root.ts'

export interface AclConfig {
  /** Rules of the configuration, followed by those of the file. */
  readonly rules: readonly AclRule[]
  /** Path, as written in the configuration. */
  readonly file: string | undefined
  readonly noMatch: 'allow' | 'deny'
  readonly denyAction: 'ignore' | 'disconnect'
  /** A service decides if no rule matches. */
  readonly usesService: boolean
  /** Cached decisions of the service for one client. */
  readonly maxDecisions: number
  readonly decisionTtlMs: number
}

export function toAclConfig({ auth, node }: SettingValues, fileRules: readonly AclRule[]): AclConfig {
  const { acl, cache, http_auth: service } = auth
  const usesService = service.enable && service.acl_req.url !== undefined
  // If any rule is configured, actions without a rule are denied.
  const hasRules = acl.rules.length > 0 || acl.file !== undefined || service.acl_req.url !== undefined
  const defaultNoMatch = node.security_profile === 'hardened' && hasRules ? 'deny' : 'allow'
  return {
    rules: [...acl.rules, ...fileRules],
    file: acl.file,
    noMatch: auth.no_match ?? defaultNoMatch,
    denyAction: auth.deny_action,
    usesService,
    maxDecisions: cache.max_size,
    decisionTtlMs: service.cache_ttl > 0 ? service.cache_ttl : cache.ttl,
  }
}
