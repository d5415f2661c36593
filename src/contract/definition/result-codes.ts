// Result codes in API responses, in addition to the HTTP status. They are those of other brokers with the same
// interface.

export interface ResultCode {
  readonly code: number
  /** Default HTTP status. */
  readonly status: number
  /** Description, for clients that see only the number. */
  readonly sentence: string
}

/** All result codes, by their name in this code. */
export const resultCodes = {
  success: { code: 0, status: 200, sentence: 'success' },
  rpcError: { code: 101, status: 500, sentence: 'a shard did not respond' },
  unknownError: { code: 102, status: 500, sentence: 'other error' },
  wrongCredentials: { code: 103, status: 401, sentence: 'invalid user name or password' },
  emptyCredentials: { code: 104, status: 401, sentence: 'empty user name or password' },
  userNotFound: { code: 105, status: 404, sentence: 'user does not exist' },
  adminCannotBeDeleted: { code: 106, status: 400, sentence: 'the administrator account cannot be deleted' },
  missingParameter: { code: 107, status: 400, sentence: 'a required parameter is missing' },
  invalidParameter: { code: 108, status: 400, sentence: 'invalid parameter' },
  notJson: { code: 109, status: 400, sentence: 'the body is not valid JSON' },
  pluginEnabled: { code: 110, status: 400, sentence: 'the plug-in is enabled' },
  pluginClosed: { code: 111, status: 400, sentence: 'the plug-in is closed' },
  clientOffline: { code: 112, status: 404, sentence: 'the client is offline' },
  userExists: { code: 113, status: 400, sentence: 'user already exists' },
  wrongOldPassword: { code: 114, status: 400, sentence: 'the old password is wrong' },
  invalidTopic: { code: 115, status: 400, sentence: 'invalid topic' },
  tokenExpired: { code: 116, status: 401, sentence: 'the token has expired' },
  notHocon: { code: 117, status: 400, sentence: 'the text is not valid HOCON' },
  configNotWritten: { code: 118, status: 500, sentence: 'the configuration file could not be written' },
} as const satisfies Record<string, ResultCode>

export type ResultCodeName = keyof typeof resultCodes
