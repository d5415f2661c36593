// Settings of authentication and authorization, as plain data: the main thread creates them from the configuration and
// its files, and passes them to every shard. They survive a structured clone.

import {
  type FailedLoginConfig,
  defaultFailedLoginConfig,
  type FlappingConfig,
  defaultFlappingConfig,
  type JwtConfig,
  type HttpAuthConfig,
} from '../config/index.ts'
import type { CredentialRecord } from '../records/index.ts'
import type { AuthenticatorName } from './authenticators/authenticator.ts'
import type { CertificateName } from './authenticators/transport-authenticators.ts'
import { defaultHashParameters, type HashParameters } from './credentials/password-hash.ts'
import { defaultRuleSettings, type RuleSettings } from './rules/access-rules.ts'
import type { ScramSettings } from './scram/scram-authenticator.ts'

export interface AccessSettings {
  /** `hardened`: a failing source, and an empty chain, refuse all clients. `legacy`: they are skipped. */
  readonly profile: 'hardened' | 'legacy'
  /** Whether clients unknown to all authenticators are accepted; undefined: on loopback listeners only. */
  readonly allowAnonymous: boolean | undefined
  /** Used in this order. */
  readonly chain: readonly AuthenticatorName[]
  /** The chain is in the configuration: if nothing of it is left, all clients are refused (`hardened`). */
  readonly isChainConfigured: boolean
  /** Users and clients of the configuration. A stored credential of the same name replaces one. */
  readonly credentials: readonly CredentialRecord[]
  /** Most common hash parameters of stored passwords: the check of an unknown user takes the same time. */
  readonly hashParameters: HashParameters
  /** The part of a certificate that is the user name. */
  readonly certificateName: CertificateName
  /** Undefined: not configured. */
  readonly scram: ScramSettings | undefined
  readonly token: JwtConfig | undefined
  /** Authenticates if `http` is in the chain; authorizes if it has a URL for that. */
  readonly http: HttpAuthConfig | undefined
  /** Limits for bans of clients that reconnect too often. */
  readonly flapping: FlappingConfig
  /** Delays of failed logins. */
  readonly failedLogins: FailedLoginConfig
  /** Rules for authenticated clients. */
  readonly rules: RuleSettings
}

/** Settings without a configuration: there are no users, and anonymous clients are accepted on loopback. */
export const defaultAccessSettings: AccessSettings = {
  profile: 'hardened',
  allowAnonymous: undefined,
  chain: ['password', 'scram'],
  isChainConfigured: false,
  credentials: [],
  hashParameters: defaultHashParameters,
  certificateName: 'common_name',
  scram: undefined,
  token: undefined,
  http: undefined,
  flapping: defaultFlappingConfig,
  failedLogins: defaultFailedLoginConfig,
  rules: defaultRuleSettings,
}
