// Converts `gateway.<name>.authentication`, and the authentication of a gateway listener, to the settings with which the shards
// authenticate clients.

import type { JwtConfig } from '../../config/index.ts'
import { type ListenerAuthentication, readTokenKeys } from '../../access/index.ts'
import type { Gateway, GatewaySocket } from './configured-sockets.ts'

export type AuthenticationSettings = Gateway['authentication']

/** An error, and the key of its setting below `authentication`. */
export interface AuthenticationProblem {
  readonly setting: string
  readonly problem: string
}

const maxWaiting = 10_000
const leewayMs = 5_000
const minSecretBytes = 32

/** Returns whether the authentication is configured and enabled. */
export function isInForce({ mechanism, enable }: AuthenticationSettings): boolean {
  return mechanism !== undefined && enable
}

/** Returns the authentication of the listener, or else of its gateway. `own` undefined: the authentication chain of the broker applies. */
export function resolveListenerAuthentication(
  type: string,
  gateway: Gateway,
  { kind, name, listener }: GatewaySocket,
): { readonly own: ListenerAuthentication | undefined } | { readonly key: string; readonly problem: string } {
  const chain = `${type}:${kind}:${name}`
  const [key, settings, owner] = isInForce(listener.authentication)
    ? [`gateway.${type}.listeners.${kind}.${name}`, listener.authentication, chain]
    : [`gateway.${type}`, gateway.authentication, type]
  if (!isInForce(settings)) return { own: undefined }
  const read = toListenerAuthentication(owner, settings)
  return 'problem' in read ? { key: `${key}.authentication.${read.setting}`, problem: read.problem } : { own: read }
}

function toListenerAuthentication(
  chain: string,
  settings: AuthenticationSettings,
): ListenerAuthentication | AuthenticationProblem {
  if (settings.mechanism === 'jwt') return toJwtAuthentication(chain, settings)
  return settings.backend === 'http' ? toHttpAuthentication(chain, settings) : toUserAuthentication(chain, settings)
}

function toUserAuthentication(
  chain: string,
  settings: AuthenticationSettings,
): ListenerAuthentication | AuthenticationProblem {
  const { name: algorithm, salt_position: saltPosition } = settings.password_hash_algorithm
  if (saltPosition === 'disable' && algorithm !== 'plain')
    return {
      setting: 'password_hash_algorithm.salt_position',
      problem: `is disable: passwords by ${algorithm} are salted; set prefix or suffix`,
    }
  const hashParameters = { algorithm, saltPosition: saltPosition === 'disable' ? 'prefix' : saltPosition } as const
  return { chain, kind: 'users', by: settings.user_id_type, hashParameters }
}

function toHttpAuthentication(
  chain: string,
  settings: AuthenticationSettings,
): ListenerAuthentication | AuthenticationProblem {
  const { url, method, headers, body } = settings
  if (url === undefined) return { setting: 'url', problem: 'is missing; set the address of the service' }
  if (!/^https?:\/\/[^/?#@\s]+/i.test(url) || !URL.canParse(url))
    return { setting: 'url', problem: 'is not an address of http or https; write http://host:port/path' }
  const authRequest = {
    url,
    method: method === 'get' ? 'GET' : 'POST',
    headers: [...headers],
    params: [...body],
  } as const
  const http = {
    authRequest,
    superRequest: undefined,
    aclRequest: undefined,
    timeoutMs: settings.request_timeout,
    connectTimeoutMs: settings.connect_timeout,
    poolSize: settings.pool_size,
    maxWaiting,
    cacheTtlMs: 0,
  }
  return { chain, kind: 'http', http }
}

function toJwtAuthentication(
  chain: string,
  settings: AuthenticationSettings,
): ListenerAuthentication | AuthenticationProblem {
  const key = toTokenKey(settings)
  if ('problem' in key) return key
  const read = readTokenKeys(key)
  if ('problem' in read) {
    const setting = key.kind === 'secret' ? 'secret' : 'public_key'
    return { setting, problem: `cannot check tokens: ${read.problem}` }
  }
  const token: JwtConfig = {
    from: settings.from,
    key,
    leewayMs,
    claims: [...settings.verify_claims],
    usernameClaim: undefined,
    aclClaim: settings.acl_claim_name,
    endsWithToken: settings.disconnect_after_expire,
  }
  return { chain, kind: 'jwt', token }
}

function toTokenKey(settings: AuthenticationSettings): JwtConfig['key'] | AuthenticationProblem {
  if (settings.algorithm === 'public-key') {
    const { public_key: text } = settings
    return text === undefined
      ? { setting: 'public_key', problem: 'is missing; set the public key as PEM text' }
      : { kind: 'public-key', text }
  }
  const { secret, secret_base64_encoded: isBase64 } = settings
  if (secret === undefined) return { setting: 'secret', problem: 'is missing; set what tokens are signed with' }
  const bytes = Buffer.from(secret, isBase64 ? 'base64' : 'utf8')
  return bytes.length < minSecretBytes
    ? { setting: 'secret', problem: `has fewer than ${minSecretBytes} bytes; take a longer one` }
    : { kind: 'secret', secret: bytes }
}
