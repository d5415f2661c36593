// Who may come in, as the configuration has it and as the shards need it.

import type { AccessSettings } from '../access/index.ts'
import type { GodwitConfig } from '../config/index.ts'

export function accessSettingsOf({ auth, node }: GodwitConfig): AccessSettings {
  return {
    profile: node.securityProfile,
    allowAnonymous: auth.allowAnonymous,
    chain: ['password', 'scram'],
    isChainConfigured: false,
    credentials: [],
  }
}
