// Who may come in, as the configuration has it and as the shards need it.

import type { AccessSettings, RuleSettings } from '../access/index.ts'
import type { GodwitConfig } from '../config/index.ts'

export function accessSettingsOf({ auth, node }: GodwitConfig): AccessSettings {
  return {
    profile: node.securityProfile,
    allowAnonymous: auth.allowAnonymous,
    chain: ['password', 'scram'],
    isChainConfigured: false,
    credentials: [],
    rules: ruleSettingsOf({ auth, node }),
  }
}

function ruleSettingsOf({ auth, node }: Pick<GodwitConfig, 'auth' | 'node'>): RuleSettings {
  const { rules, noMatch, denyAction, asksService, maxVerdicts, verdictTtlMs } = auth.acl
  const failingDenies = node.securityProfile === 'hardened'
  return { rules, noMatch, denyAction, asksService, failingDenies, hasTokens: false, maxVerdicts, verdictTtlMs }
}
