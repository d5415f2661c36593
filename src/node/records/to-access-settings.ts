// Converts the configuration of authentication into settings for shards: passwords are hashed and keys validated here,
// once, before any shard gets them.

import {
  authenticatorNames,
  hashPassword,
  makeScramRecord,
  readTokenKeys,
  deriveSalt,
  type AccessSettings,
  type AuthenticatorName,
  type RuleSettings,
} from '../../access/index.ts'
import { createConfigError, formatConfigError, type AuthConfig, type GodwitConfig } from '../../config/index.ts'

const noPosition = { file: 'configuration', line: 0, column: 0 }

/**
 * Returns the settings, or an error text with file, line and key if a key is unusable. Running shards then keep their
 * settings. `secret`: the secret of this node (see `settleAccessSecret`).
 */
export function toAccessSettings(
  config: GodwitConfig,
  secret: Uint8Array,
): { readonly access: AccessSettings } | { readonly problem: string } {
  const { auth, node } = config
  const problem = findTokenKeyProblem(config)
  if (problem !== undefined) return { problem }
  const hashParameters = { algorithm: auth.passwordHash, saltPosition: auth.saltPosition }
  const access: AccessSettings = {
    profile: node.securityProfile,
    allowAnonymous: auth.allowAnonymous,
    chain: resolveChain(auth),
    isChainConfigured: auth.chain !== undefined,
    credentials: auth.credentials.map(({ by, id, password, isSuperuser }) => {
      return { kind: 'credential', by, id, isSuperuser, createdAtMs: 0, ...hashPassword(password, hashParameters) }
    }),
    hashParameters,
    certificateName: auth.certificate?.username ?? 'common_name',
    scram: toScramSettings(auth, secret),
    token: auth.jwt,
    http: auth.http,
    flapping: config.flapping,
    failedLogins: auth.failedLogins,
    rules: toRuleSettings(config),
  }
  return { access }
}

/** Returns why the file with the keys for tokens cannot be used: it may be readable and contain no key. */
function findTokenKeyProblem({ auth: { jwt }, places }: GodwitConfig): string | undefined {
  const read = jwt === undefined ? undefined : readTokenKeys(jwt.key)
  if (jwt === undefined || read === undefined || !('problem' in read)) return undefined
  const key = jwt.key.kind === 'jwks' ? 'auth.jwt.jwks_file' : 'auth.jwt.public_key_file'
  const error = createConfigError(
    places.get(key) ?? noPosition,
    key,
    `the file has no key that can verify tokens: ${read.problem}`,
    'restore the file, or name another one',
  )
  return formatConfigError(error)
}

function toRuleSettings({ auth, node, namespaces }: GodwitConfig): RuleSettings {
  const { file: _file, ...configured } = auth.acl
  const deniesOnError = node.securityProfile === 'hardened'
  const hasTokens = auth.jwt !== undefined
  const hasNamespaces = namespaces !== undefined
  return { ...configured, deniesOnError, hasTokens, hasNamespaces }
}

/** The configured chain, or the default; without disabled authenticators. */
function resolveChain(auth: AuthConfig): readonly AuthenticatorName[] {
  const isEnabled: Readonly<Record<AuthenticatorName, boolean>> = {
    certificate: auth.certificate !== undefined,
    psk: auth.isPskEnough,
    password: true,
    scram: auth.scram !== undefined,
    jwt: auth.jwt !== undefined,
    http: auth.http?.authRequest !== undefined,
  }
  return (auth.chain ?? authenticatorNames).filter((name) => isEnabled[name])
}

function toScramSettings({ scram }: AuthConfig, secret: Uint8Array): AccessSettings['scram'] {
  if (scram === undefined) return undefined
  const { iterations } = scram
  const users = scram.users.map((user) =>
    makeScramRecord({ ...user, iterations, createdAtMs: 0, salt: deriveSalt(user.username, user.algorithm, secret) }),
  )
  return { users, iterations, secret }
}
