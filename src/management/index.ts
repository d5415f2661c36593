// Entry point of the module management: serves a table of endpoints with their handlers over HTTP, and the dashboard.

export type * from './auth/single-sign-on-types.ts'

export type { ListPosition, ListSlice, RowsWanted, ShardUnavailable } from './lists/list-slice.ts'

export {
  type PageFound,
  type PageMeta,
  type PageWanted,
  type PagingQuery,
  toPageMeta,
  parsePageWanted,
} from './lists/numbered-pages.ts'

export type { HandlerByName, HandlersFor } from './namespaced-handlers.ts'
export { createManagementServer, type ListenAt, type ManagementServer } from './server.ts'
export type { AuditTrail, ManagementOptions, ManagementSettings } from './server-context.ts'
export { mqttUpgradePath } from './dashboard/mqtt-upgrade.ts'
export { DashboardFiles } from './dashboard/dashboard-files.ts'
export { closeGraceMs, maxSocketHeaderBytes, requestTimeoutMs } from './http/http-limits.ts'
export {
  createAuthenticator,
  type Accounts,
  type Authenticator,
  type Logins,
  type SecondFactors,
  type LoggedIn,
  type LoginMethods,
  createSocketAuthenticator,
  type Tokens,
  AuthQueue,
} from './auth/request-authenticator.ts'
export { authorizeCaller } from './auth/authorization.ts'
export { readRequestedRole } from './auth/read-requested-role.ts'
export { ApiError, refuse, refuseFor, quoteShortened } from './http/api-error.ts'
export { formatLocalTime, formatOffsetTime, formatUptime } from './http/format-time.ts'
export { type Handlers } from './http/handler.ts'
export { JsonText } from './http/json-text.ts'
export { checkMisspelledKeys } from './http/check-misspelled-keys.ts'
export { MalformedUpload } from './http/multipart.ts'
export { refuseShape } from './http/read-request.ts'
export { checkNodeName } from './lists/check-node-name.ts'
export { beginning, formatCursor, type Paging, parsePaging, parseCursor } from './lists/parse-paging.ts'
export { type ListSource, replyWithList, replyWithRows, toShardUnavailableError } from './lists/reply-with-list.ts'
export { type AuditEntry } from './audited-request.ts'
