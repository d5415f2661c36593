// Authorizes API requests, for every transport and version.

import type { Access, Caller, Endpoint, Role } from '../../contract/index.ts'
import { type ApiError, refuse, refuseFor } from '../http/api-error.ts'

/** Facts for the decision, in addition to the caller. */
export interface Wanted {
  readonly endpoint: Pick<Endpoint, 'access' | 'version' | 'isForNamespaces'>
  /** The account that it concerns, if any. */
  readonly username?: unknown
}

/** undefined: allowed. */
export function authorizeCaller({ endpoint, username }: Wanted, caller: Caller): ApiError | undefined {
  const { access, version, isForNamespaces = false } = endpoint
  if (isOwn(access, username, caller)) return undefined
  if (isAboutAccounts(access) && caller.by === 'api-key') {
    // A leaked secret must not be able to create further secrets.
    const words = 'a program may not look after accounts'
    return version === undefined ? refuse('wrongCredentials', words, 403) : refuseFor('API_KEY_NOT_ALLOW', words)
  }
  if (access === 'install' && (caller.by === 'api-key' || caller.by === 'token')) {
    const words = 'only an account can decide which code the broker runs: log in with user name and password'
    return refuse('wrongCredentials', words, 403).withReason('API_KEY_NOT_ALLOW')
  }
  if (!rolesWith[access].includes(caller.role)) {
    return refuse('wrongCredentials', describeRoleLimit(caller.role), 403).withReason('UNAUTHORIZED_ROLE')
  }
  if (caller.namespace !== undefined && access !== 'signed-in' && !isForNamespaces) {
    const words = `this account is limited to the namespace ${caller.namespace}, and the request is not`
    return refuse('wrongCredentials', words, 403).withReason('UNAUTHORIZED_ROLE')
  }
  return undefined
}

const everybody: readonly Role[] = ['administrator', 'viewer', 'publisher']

const rolesWith: Readonly<Record<Access, readonly Role[]>> = {
  open: everybody,
  'signed-in': everybody,
  read: ['administrator', 'viewer'],
  publish: ['administrator', 'publisher'],
  change: ['administrator'],
  accounts: ['administrator'],
  'own-account': ['administrator'],
  install: ['administrator'],
}

function isOwn(access: Access, username: unknown, { by, name }: Caller): boolean {
  return access === 'own-account' && by === 'account' && name === username
}

function isAboutAccounts(access: Access): boolean {
  return access === 'accounts' || access === 'own-account'
}

function describeRoleLimit(role: Role): string {
  if (role === 'viewer') return 'this account may look, and change nothing'
  return role === 'publisher' ? 'this account may publish, and nothing else' : 'this account may not do that'
}
