// Why something is not done with an account or a key, as the two versions of the API say it: in the same words, with a code
// of the fourth and a reason of the fifth.

import type { ReasonName, ResultCodeName } from '../contract/index.ts'
import type { AccountRefusal } from './operations/accounts.ts'
import { type ApiError, refuse, refuseFor } from './api-error.ts'

interface AccountErrorText {
  readonly code: ResultCodeName
  readonly reason: ReasonName
  readonly words: (name: string) => string
}

const accountErrors: Readonly<Record<AccountRefusal, AccountErrorText>> = {
  'not-found': { code: 'userNotFound', reason: 'USER_NOT_FOUND', words: (name) => `there is no ${name}` },
  exists: { code: 'userExists', reason: 'BAD_REQUEST', words: (name) => `${name} exists already` },
  'too-many': {
    code: 'invalidParameter',
    reason: 'BAD_REQUEST',
    words: () => 'there are as many accounts as may be: take one away first',
  },
  'is-own': {
    code: 'adminCannotBeDeleted',
    reason: 'NOT_ALLOWED',
    words: (name) => `${name} is the account of http_server, which stays an administrator of everything`,
  },
  'is-configured': {
    code: 'invalidParameter',
    reason: 'BAD_REQUEST',
    words: (name) => `the password of ${name} is set by http_server.password: change it there`,
  },
  'wrong-password': {
    code: 'wrongOldPassword',
    reason: 'ERROR_PWD_NOT_MATCH',
    words: () => 'the old password is wrong',
  },
}

/** In the fourth version. */
export function refuseAccount(refused: AccountRefusal, name: string): ApiError {
  const { code, words } = accountErrors[refused]
  return markGuess(refuse(code, words(JSON.stringify(name))), refused, name)
}

/** In the fifth version. */
export function refuseAccountFor(refused: AccountRefusal, name: string): ApiError {
  const { code, reason, words } = accountErrors[refused]
  const said = words(JSON.stringify(name))
  // A user that exists has one number in both versions, as clients of both look at it.
  if (code === 'userExists') return refuse(code, said).withReason(reason)
  return markGuess(refuseFor(reason, said), refused, name)
}

/** Whoever has a login and not the password waits as those do who guess at the door. */
function markGuess(refusal: ApiError, refused: AccountRefusal, name: string): ApiError {
  return refused === 'wrong-password' ? refusal.withGuessedAccount(name) : refusal
}
