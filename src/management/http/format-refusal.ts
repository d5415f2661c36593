// The response to a refused request.

import type { ReasonName } from '../../contract/index.ts'
import { type ApiError, formatErrorBody } from './api-error.ts'
import { allowedMethods } from './not-found.ts'

export interface RefusalResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: ReturnType<typeof formatErrorBody>
}

/** `url`: of the request. */
export function formatRefusal(refusal: ApiError, url: string): RefusalResponse {
  const { status, reason } = refusal
  const headers: Record<string, string> = {}
  if (status === 401) headers['www-authenticate'] = loginReasons.has(reason) ? bearer : basic
  if (status === 405) headers['allow'] = allowedMethods
  return { status, headers, body: formatErrorBody(refusal, url) }
}

const basic = 'Basic realm="godwit", charset="UTF-8"'
const bearer = 'Bearer realm="godwit"'
/** A browser would show its own password dialog for Basic, which does not help a page with a login form. */
const loginReasons: ReadonlySet<string> = new Set<ReasonName>([
  'BAD_TOKEN',
  'TOKEN_TIME_OUT',
  'BAD_USERNAME_OR_PWD',
  'BAD_MFA_TOKEN',
  'WRONG_TOKEN_OR_USERNAME',
])
