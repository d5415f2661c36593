// Settings that say who may use the API: the account of `http_server`, and how people sign in.

import { type ConfigObject, type Difference, putValue, valueAt } from '../../config/index.ts'
import type { ConfigAuthor } from './config-history.ts'
import { type ConfigDocument, nothingChanged } from './config-layers.ts'
import type { ConfigRefusal } from './config-refusals.ts'

const ofSignIn = /^http_server\.(?:username|password|auth_type|jwt\..*)$/

/** A program may not look after accounts: neither by them nor by what makes one. What stands in the file is the operator's. */
export function refusalOfAccountChange(
  changes: () => readonly Pick<Difference, 'key'>[],
  { name, author }: { readonly name: string; readonly author: ConfigAuthor },
): ConfigRefusal | undefined {
  if (author.by !== 'api-key' || name === 'reload') return undefined
  const keys = changes().flatMap(({ key }) => (ofSignIn.test(key) ? [key] : []))
  if (keys.length === 0) return undefined
  return { isDone: false, why: 'forbidden', message: `${keys.join(', ')}: a program may not look after accounts` }
}

/** A text that says no password of the administrator leaves the account as it is. */
export function withStoredAccount(document: ConfigDocument, written: ConfigObject): ConfigObject {
  const path = ['http_server', 'password']
  const stored = valueAt(written, path)
  if (stored === undefined || valueAt(document.values, path) !== undefined) return nothingChanged
  const kept = putValue(nothingChanged, path, stored)
  const namePath = ['http_server', 'username']
  const name = valueAt(written, namePath)
  return name === undefined || valueAt(document.values, namePath) !== undefined ? kept : putValue(kept, namePath, name)
}
