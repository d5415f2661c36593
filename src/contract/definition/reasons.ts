// Reasons of failures in version 5 of the API, in addition to the code of version 4.

import type { ResultCodeName } from './result-codes.ts'

export interface Reason {
  /** The code of version 4. */
  readonly result: ResultCodeName
  /** HTTP status. */
  readonly status: number
  readonly sentence: string
}

/** By their names. */
export const reasons = {
  BAD_REQUEST: { result: 'invalidParameter', status: 400, sentence: 'invalid request' },
  ALREADY_EXISTS: { result: 'invalidParameter', status: 400, sentence: 'the name is taken' },
  ALREADY_INSTALLED: { result: 'invalidParameter', status: 400, sentence: 'the plugin is installed' },
  BAD_PLUGIN_INFO: {
    result: 'invalidParameter',
    status: 400,
    sentence: 'the archive is not a plugin that can be used',
  },
  BAD_FORM_DATA: { result: 'invalidParameter', status: 400, sentence: 'the body is not a form with a file' },
  BAD_CONFIG: { result: 'invalidParameter', status: 400, sentence: 'invalid configuration of a plugin' },
  BAD_POSITION: { result: 'invalidParameter', status: 400, sentence: 'invalid position' },
  MOVE_FAILED: { result: 'invalidParameter', status: 400, sentence: 'the position cannot be changed' },
  PARAM_ERROR: { result: 'invalidParameter', status: 400, sentence: 'the plugin cannot be started' },
  TEST_FAILED: { result: 'invalidParameter', status: 400, sentence: 'the service cannot be reached' },
  ERROR_PWD_NOT_MATCH: { result: 'wrongOldPassword', status: 400, sentence: 'the old password is wrong' },
  NOT_ALLOWED: { result: 'adminCannotBeDeleted', status: 400, sentence: 'this account cannot be changed in this way' },
  AUTHORIZATION_HEADER_ERROR: { result: 'emptyCredentials', status: 401, sentence: 'missing Authorization header' },
  BAD_API_KEY_OR_SECRET: {
    result: 'wrongCredentials',
    status: 401,
    sentence: 'invalid name or password, or id or secret',
  },
  API_KEY_NOT_ALLOW: { result: 'wrongCredentials', status: 401, sentence: 'API keys cannot use this operation' },
  BAD_TOKEN: { result: 'wrongCredentials', status: 401, sentence: 'unknown token' },
  TOKEN_TIME_OUT: { result: 'tokenExpired', status: 401, sentence: 'the login expired' },
  BAD_USERNAME_OR_PWD: { result: 'wrongCredentials', status: 401, sentence: 'invalid user name or password' },
  BAD_MFA_TOKEN: { result: 'wrongCredentials', status: 401, sentence: 'missing or invalid one-time code' },
  WRONG_TOKEN_OR_USERNAME: { result: 'wrongCredentials', status: 401, sentence: 'the token belongs to another user' },
  UNAUTHORIZED_ROLE: { result: 'wrongCredentials', status: 403, sentence: 'the role does not allow this operation' },
  FORBIDDEN: { result: 'wrongCredentials', status: 403, sentence: 'access to this object is denied' },
  NOT_FOUND: { result: 'invalidParameter', status: 404, sentence: 'not found' },
  USER_NOT_FOUND: { result: 'userNotFound', status: 404, sentence: 'user not found' },
  CLIENT_NOT_FOUND: { result: 'invalidParameter', status: 404, sentence: 'client not found' },
  CONFLICT: { result: 'invalidParameter', status: 409, sentence: 'another operation is in progress' },
  NOT_MATCH: { result: 'invalidParameter', status: 412, sentence: 'the SQL gives no result' },
  CLIENT_NOT_RESPONSE: { result: 'rpcError', status: 504, sentence: 'the client did not respond in time' },
  INTERNAL_ERROR: { result: 'unknownError', status: 500, sentence: 'internal error' },
  SERVICE_UNAVAILABLE: { result: 'rpcError', status: 500, sentence: 'a shard did not respond; retry' },
} as const satisfies Record<string, Reason>

export type ReasonName = keyof typeof reasons

/** Returns the reason for a failure with a code of version 4. */
export function toReason(result: ResultCodeName, status: number): ReasonName {
  if (status === 401) return result === 'tokenExpired' ? 'TOKEN_TIME_OUT' : 'AUTHORIZATION_HEADER_ERROR'
  if (status === 403) return 'FORBIDDEN'
  if (result === 'rpcError') return 'SERVICE_UNAVAILABLE'
  if (status >= 500) return 'INTERNAL_ERROR'
  if (status === 404) return result === 'userNotFound' ? 'USER_NOT_FOUND' : 'NOT_FOUND'
  return status === 409 ? 'CONFLICT' : 'BAD_REQUEST'
}
