// Authenticates users of the management API by signed tokens.

import { checkToken, readTokenKeys, type TokenKey } from '../../access/index.ts'
import { createConfigError, formatConfigError, type GodwitConfig } from '../../config/index.ts'
import { isNamespaceName } from '../../core/index.ts'
import type { LoggedIn, Tokens } from '../../management/index.ts'

type TokenLogin = Tokens['logIn']

type Created<Value> = Value | { readonly problem: string }

/** undefined: no key is configured. A problem is a sentence with file, line and key. */
export function createApiTokens(config: GodwitConfig): Created<{ tokens: Tokens | undefined }> {
  const ofIssuer = createIssuerLogin(config)
  const ofOperator = createOperatorLogin(config)
  if (isProblem(ofIssuer)) return ofIssuer
  if (isProblem(ofOperator)) return ofOperator
  if (ofOperator === undefined) return { tokens: ofIssuer === undefined ? undefined : { logIn: ofIssuer } }
  const logIn: TokenLogin = async (token) => {
    const found = await ofOperator(token)
    return typeof found === 'object' && 'reason' in found && ofIssuer !== undefined ? ofIssuer(token) : found
  }
  return { tokens: { logIn } }
}

function isProblem(created: object | undefined): created is { readonly problem: string } {
  return created !== undefined && 'problem' in created
}

/** Tokens of `http_server.jwt`. */
function createIssuerLogin({ http, places }: GodwitConfig): Created<TokenLogin | undefined> {
  const setting = 'http_server.jwt.public.keyfile'
  const { keyText, issuer, leewayMs } = http.jwt
  if (keyText === undefined) {
    if (http.authType !== 'jwt') return undefined
    return describeProblem(
      places,
      setting,
      'http_server.auth_type = jwt needs the key that tokens are checked with: name its file',
    )
  }
  const key = readKey(places, setting, keyText)
  if ('problem' in key) return key
  return async (token) => {
    const checked = await checkToken(token, key, { nowMs: Date.now(), leewayMs })
    if ('problem' in checked) return checked.hasEnded ? 'ended' : { reason: checked.problem }
    const { iss, sub } = checked.claims
    if (issuer !== undefined && iss !== issuer)
      return { reason: 'the claim iss is missing or is not http_server.jwt.issuer' }
    const rights = parseRights(checked.claims['role'])
    if (rights === undefined) return { reason: 'the claim role names no role' }
    const name = typeof sub === 'string' ? sub : (iss ?? '')
    return { name, by: 'token', ...rights, login: undefined }
  }
}

/** A token of the operator that was copied from a log or a network is useless soon. */
const maxOperatorTokenSeconds = 300
const operatorLeewayMs = 5_000

/** Tokens of an operator for Kubernetes. */
function createOperatorLogin({ http, places }: GodwitConfig): Created<TokenLogin | undefined> {
  const setting = 'http_server.operator_keyfile'
  if (http.operatorKeyText === undefined) return undefined
  const key = readKey(places, setting, http.operatorKeyText)
  if ('problem' in key) return key
  return async (token) => {
    const checked = await checkToken(token, key, { nowMs: Date.now(), leewayMs: operatorLeewayMs })
    if ('problem' in checked) return checked.hasEnded ? 'ended' : { reason: checked.problem }
    const { exp = Number.POSITIVE_INFINITY, iat = 0 } = checked.claims
    if (exp - iat > maxOperatorTokenSeconds) {
      return { reason: `a token of the operator is valid for at most ${maxOperatorTokenSeconds} s` }
    }
    return { name: 'operator', by: 'token', role: 'administrator', namespace: undefined, login: undefined }
  }
}

function readKey(places: GodwitConfig['places'], setting: string, text: string): Created<TokenKey> {
  const read = readTokenKeys({ kind: 'public-key', text })
  if ('problem' in read)
    return describeProblem(
      places,
      setting,
      `the file has no key that can verify tokens: ${read.problem}`,
      'restore the file, or name another one',
    )
  const [key] = read.keys
  return key ?? describeProblem(places, setting, 'the file contains no key')
}

function describeProblem(
  places: GodwitConfig['places'],
  setting: string,
  message: string,
  hint?: string,
): { readonly problem: string } {
  const nowhere = { file: 'configuration', line: 0, column: 0 }
  return { problem: formatConfigError(createConfigError(places.get(setting) ?? nowhere, setting, message, hint)) }
}

const roles = { administrator: 'administrator', viewer: 'viewer', publisher: 'publisher' } as const

/**
 * Returns the rights of the claim `role` in the form of the API: `viewer`, or `ns:plant::viewer` in a namespace.
 * Absent: an administrator, as in earlier versions. undefined: an unknown value, which must not grant more than
 * intended.
 */
function parseRights(claim: unknown): Pick<LoggedIn, 'role' | 'namespace'> | undefined {
  if (claim === undefined) return { role: 'administrator', namespace: undefined }
  if (typeof claim !== 'string') return undefined
  const [, namespace, plain = claim] = /^ns:(.*)::(\w+)$/.exec(claim) ?? []
  if (!Object.hasOwn(roles, plain) || (namespace !== undefined && !isNamespaceName(namespace))) return undefined
  return { role: roles[plain as keyof typeof roles], namespace }
}
