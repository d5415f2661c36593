// Authenticates users of the management API by signed tokens.

import { checkToken, readTokenKeys } from '../../access/index.ts'
import { createConfigError, formatConfigError, type GodwitConfig } from '../../config/index.ts'
import { isNamespaceName } from '../../core/index.ts'
import type { LoggedIn, Tokens } from '../../management/index.ts'

const keyOfKeyFile = 'http_server.jwt.public.keyfile'

/** undefined: no key is configured. A problem is a sentence with file, line and key. */
export function createApiTokens({ http, places }: GodwitConfig): { tokens: Tokens | undefined } | { problem: string } {
  const { keyText, issuer, leewayMs } = http.jwt
  const createProblem = (message: string, hint?: string): { problem: string } => {
    const nowhere = { file: 'configuration', line: 0, column: 0 }
    return {
      problem: formatConfigError(createConfigError(places.get(keyOfKeyFile) ?? nowhere, keyOfKeyFile, message, hint)),
    }
  }
  if (keyText === undefined) {
    if (http.authType !== 'jwt') return { tokens: undefined }
    return createProblem('http_server.auth_type = jwt needs the key that tokens are checked with: name its file')
  }
  const read = readTokenKeys({ kind: 'public-key', text: keyText })
  if ('problem' in read)
    return createProblem(
      `the file has no key that can verify tokens: ${read.problem}`,
      'restore the file, or name another one',
    )
  const [key] = read.keys
  if (key === undefined) return createProblem('the file contains no key')
  return {
    tokens: {
      logIn: async (token) => {
        const checked = await checkToken(token, key, { nowMs: Date.now(), leewayMs })
        if ('problem' in checked) return checked.hasEnded ? 'ended' : { reason: checked.problem }
        const { iss, sub } = checked.claims
        if (issuer !== undefined && iss !== issuer)
          return { reason: 'the claim iss is missing or is not http_server.jwt.issuer' }
        const rights = parseRights(checked.claims['role'])
        if (rights === undefined) return { reason: 'the claim role names no role' }
        const name = typeof sub === 'string' ? sub : (iss ?? '')
        return { name, by: 'token', ...rights, login: undefined }
      },
    },
  }
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
