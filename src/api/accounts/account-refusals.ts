// Refusals for accounts and keys in both versions of the API: the same text, with a code of version 4 and a reason of
// version 5.

import type { ReasonName, ResultCodeName } from '../../contract/index.ts'
import { type ApiError, refuse, refuseFor } from '../../management/index.ts'

/** Reason why the request is refused. */
export type AccountRefusal =
  | 'not-found'
  | 'exists'
  /** The maximum is reached. */
  | 'too-many'
  /** The account of `http_server` cannot be deleted, and remains an administrator. */
  | 'is-own'
  /** The password is in the configuration. */
  | 'is-configured'
  | 'wrong-password'
  /** The account logs in by OpenID Connect. */
  | 'is-of-provider'
  /** The account has a second factor. */
  | 'has-mfa'

interface AccountErrorText {
  readonly code: ResultCodeName
  readonly reason: ReasonName
  readonly formatMessage: (name: string) => string
}

const accountErrors: Readonly<Record<AccountRefusal, AccountErrorText>> = {
  'not-found': {
    code: 'userNotFound',
    reason: 'USER_NOT_FOUND',
    formatMessage: (name) => `there is no account ${name}`,
  },
  exists: { code: 'userExists', reason: 'BAD_REQUEST', formatMessage: (name) => `${name} exists already` },
  'too-many': {
    code: 'invalidParameter',
    reason: 'BAD_REQUEST',
    formatMessage: () => 'the maximum number of accounts exists: delete one first',
  },
  'is-own': {
    code: 'adminCannotBeDeleted',
    reason: 'NOT_ALLOWED',
    formatMessage: (name) => `${name} is the account of http_server, which must stay a global administrator`,
  },
  'is-configured': {
    code: 'invalidParameter',
    reason: 'BAD_REQUEST',
    formatMessage: (name) => `the password of ${name} is set by http_server.password: change it there`,
  },
  'is-of-provider': {
    code: 'invalidParameter',
    reason: 'BAD_REQUEST',
    formatMessage: (name) =>
      `${name} logs in by OpenID Connect: password, second factor and role are those of the provider`,
  },
  'has-mfa': {
    code: 'invalidParameter',
    reason: 'CONFLICT',
    formatMessage: (name) => `${name} has a second factor: an administrator removes it first`,
  },
  'wrong-password': {
    code: 'wrongOldPassword',
    reason: 'ERROR_PWD_NOT_MATCH',
    formatMessage: () => 'the old password is wrong',
  },
}

/** In version 4. */
export function refuseAccount(refused: AccountRefusal, name: string): ApiError {
  const { code, formatMessage } = accountErrors[refused]
  return markGuess(refuse(code, formatMessage(JSON.stringify(name))), refused, name)
}

/** In version 5. */
export function refuseAccountFor(refused: AccountRefusal, name: string): ApiError {
  const { code, reason, formatMessage } = accountErrors[refused]
  const message = formatMessage(JSON.stringify(name))
  // An existing user has one code in both versions, because clients of both check it.
  if (code === 'userExists') return refuse(code, message).withReason(reason)
  return markGuess(refuseFor(reason, message), refused, name)
}

/** A caller with a login and a wrong password is delayed like a failed login. */
function markGuess(refusal: ApiError, refused: AccountRefusal, name: string): ApiError {
  return refused === 'wrong-password' ? refusal.withGuessedAccount(name) : refusal
}
