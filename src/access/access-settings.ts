// Everything that decides who may come in, as plain data: the main thread makes it of the configuration, reads the files
// that it names, and gives it to every shard. It survives a structured clone.

import type { CredentialRecord } from '../records/index.ts'
import type { CertificateName } from './authenticators/transport.ts'
import { defaultFlappingSettings, type FlappingSettings } from './bans/flapping-detector.ts'
import { defaultHashParameters, type HashParameters } from './credentials/password-hash.ts'
import { defaultFailedLoginSettings, type FailedLoginSettings } from './failed-logins/login-throttle.ts'
import type { HttpAuthorizerSettings } from './http/http-authorizer.ts'
import { defaultRuleSettings, type RuleSettings } from './rules/access-rules.ts'
import type { ScramSettings } from './scram/scram-authenticator.ts'
import type { TokenSettings } from './tokens/token-authenticator.ts'

/** Ways of showing who one is. The order is the one in which they are asked where the configuration has none. */
export const authenticatorNames = ['certificate', 'psk', 'password', 'scram', 'jwt', 'http'] as const
export type AuthenticatorName = (typeof authenticatorNames)[number]

export interface AccessSettings {
  /** `hardened`: a source that fails, and a chain with nothing in it, let nobody in. `legacy`: they are passed over. */
  readonly profile: 'hardened' | 'legacy'
  /** Whether clients that no authenticator knows are let in; undefined: on listeners that only this machine reaches. */
  readonly allowAnonymous: boolean | undefined
  /** Those that are asked, in this order. */
  readonly chain: readonly AuthenticatorName[]
  /** Somebody wrote the chain down: where nothing of it is left nobody gets in (`hardened`). */
  readonly isChainConfigured: boolean
  /** Users and clients of the configuration. A stored credential of the same name counts instead. */
  readonly credentials: readonly CredentialRecord[]
  /** How most of the stored passwords are kept: those whom nobody knows take as long as they do. */
  readonly hashParameters: HashParameters
  /** What of a certificate is the user name. */
  readonly certificateName: CertificateName
  /** Undefined: not set up. */
  readonly scram: ScramSettings | undefined
  readonly token: TokenSettings | undefined
  /** Asked about clients where `http` is in the chain; about what they may do wherever it has an address for that. */
  readonly http: HttpAuthorizerSettings | undefined
  /** When a client that comes and goes is kept out. */
  readonly flapping: FlappingSettings
  /** How failed logins are slowed. */
  readonly failedLogins: FailedLoginSettings
  /** What those who are in may do. */
  readonly rules: RuleSettings
}

/** What holds without a configuration: nobody is known, and strangers are let in from this machine. */
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
  flapping: defaultFlappingSettings,
  failedLogins: defaultFailedLoginSettings,
  rules: defaultRuleSettings,
}
