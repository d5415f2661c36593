// Settings of API access: the account of `http_server`, the authentication methods, and the origins of browsers.

import { type ConfigObject, type Difference, putValue, findConfigValue } from '../../config/index.ts'
import type { ConfigAuthor } from './config-history.ts'
import { type ConfigDocument, nothingChanged, type TextOrigin } from './layers/config-layers.ts'
import type { ConfigRefusal } from './config-refusals.ts'

/**
 * Settings that decide who can use the management. Pages of the origins in `allow_origins` send requests with the credentials that
 * a browser knows. The profile `legacy` accepts well-known passwords. Addresses and ports are not among these settings: each caller there
 * must authenticate in the same way.
 */
const ofAccess =
  /^(?:http_server\.(?:username|password|auth_type|jwt\..*)|dashboard\.(?:oidc\..*|allow_origins)|node\.security_profile)$/

/**
 * A program must not manage accounts: neither these settings nor what creates accounts. Local files are not restricted.
 */
export function checkAccountChange(
  changes: () => readonly Pick<Difference, 'key'>[],
  { origin, author }: { readonly origin: TextOrigin; readonly author: ConfigAuthor },
): ConfigRefusal | undefined {
  if (author.by !== 'api-key' || origin === 'file') return undefined
  const keys = changes().flatMap(({ key }) => (ofAccess.test(key) ? [key] : []))
  if (keys.length === 0) return undefined
  return { isDone: false, why: 'forbidden', message: `${keys.join(', ')}: a program may not look after accounts` }
}

/** A text without an administrator password leaves the account unchanged. */
export function keepStoredAccount(document: ConfigDocument, written: ConfigObject): ConfigObject {
  const path = ['http_server', 'password']
  const stored = findConfigValue(written, path)
  if (stored === undefined || findConfigValue(document.values, path) !== undefined) return nothingChanged
  const kept = putValue(nothingChanged, path, stored)
  const namePath = ['http_server', 'username']
  const name = findConfigValue(written, namePath)
  return name === undefined || findConfigValue(document.values, namePath) !== undefined
    ? kept
    : putValue(kept, namePath, name)
}
