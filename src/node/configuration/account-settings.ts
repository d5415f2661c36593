// Settings of API access: the account of `http_server`, and the authentication methods.

import { type ConfigObject, type Difference, putValue, valueAt } from '../../config/index.ts'
import type { ConfigAuthor } from './config-history.ts'
import { type ConfigDocument, nothingChanged } from './config-layers.ts'
import type { ConfigRefusal } from './config-refusals.ts'

const ofLogin = /^http_server\.(?:username|password|auth_type|jwt\..*)$/

/**
 * A program must not manage accounts: neither these settings nor what creates accounts. Local files are not restricted.
 */
export function refusalOfAccountChange(
  changes: () => readonly Pick<Difference, 'key'>[],
  { name, author }: { readonly name: string; readonly author: ConfigAuthor },
): ConfigRefusal | undefined {
  if (author.by !== 'api-key' || name === 'reload') return undefined
  const keys = changes().flatMap(({ key }) => (ofLogin.test(key) ? [key] : []))
  if (keys.length === 0) return undefined
  return { isDone: false, why: 'forbidden', message: `${keys.join(', ')}: a program may not look after accounts` }
}

/** A text without an administrator password leaves the account unchanged. */
export function withStoredAccount(document: ConfigDocument, written: ConfigObject): ConfigObject {
  const path = ['http_server', 'password']
  const stored = valueAt(written, path)
  if (stored === undefined || valueAt(document.values, path) !== undefined) return nothingChanged
  const kept = putValue(nothingChanged, path, stored)
  const namePath = ['http_server', 'username']
  const name = valueAt(written, namePath)
  return name === undefined || valueAt(document.values, namePath) !== undefined ? kept : putValue(kept, namePath, name)
}
