// Entry point of the module access: authentication and authorization. See access-control.ts for the calls that a shard makes.

export {
  AccessControl,
  type AccessDependencies,
  type AuthenticateRequest,
  type ConnectRequest,
  type AuthorizationRequest,
} from './access-control.ts'
export { defaultAccessSettings, type AccessSettings } from './access-settings.ts'
export type {
  AccessPlugins,
  PluginAuthorizationRequest,
  PluginAuthentication,
  PluginAuthorization,
} from './plugins/access-plugins.ts'
export { authenticatorNames, type Attempt, type AuthenticatorName } from './authenticators/authenticator.ts'
export { hashPassword, isPassword, type HashedPassword, type HashParameters } from './credentials/password-hash.ts'
export { createLoginTable, freeLoginTable } from './failed-logins/login-table.ts'
export type { RecordChange } from './authenticator-set.ts'
export type { ListenerAuthentication } from './chain/listener-chains.ts'
export type { RuleSettings } from './rules/access-rules.ts'
export type { Action, Decision } from './rules/compiled-rule.ts'
export {
  makeScramRecord,
  makeScramRecordAsync,
  deriveSalt,
  toScramName,
  type NewScramUser,
  type ScramAlgorithm,
} from './scram/scram-record.ts'
export { HttpClient } from './http/http-client.ts'
export { checkToken, signToken, type TokenCheck, type TokenTimes } from './tokens/token-check.ts'
export { readTokenKeys, type TokenKey, type TokenKeySource } from './tokens/token-keys.ts'
