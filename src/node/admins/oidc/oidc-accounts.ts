// Accounts of users that log in by OpenID Connect. They have no password in Godwit: the hash is empty, and no password has an empty hash.

import type { LoggedIn } from '../../../management/index.ts'
import type { AccountRecord, StoredPassword } from '../../../records/index.ts'
import type { Log } from '../../../telemetry/index.ts'
import type { AccessRecords } from '../../records/stored-access-records.ts'
import { countAdmins, maxAdmins } from '../account-limits.ts'
import { toCaller } from '../admin-authentication.ts'
import type { OidcUser } from './oidc-login.ts'

export interface OidcAccountDependencies {
  readonly records: Pick<AccessRecords, 'find' | 'list' | 'decide' | 'createMomentMs'>
  /** The name of the account of `http_server`. */
  readonly readConfiguredName: () => string
  readonly log: Log
}

/** Returns whether the account logs in by OpenID Connect. */
export function isOfProvider({ password }: Pick<AccountRecord, 'password'>): boolean {
  return password.hash.length === 0
}

/** Returns a new object each time, because logins compare the objects. */
function createUnusablePassword(): StoredPassword {
  return { algorithm: 'sha256', memory: 0, passes: 0, lanes: 0, salt: new Uint8Array(), hash: new Uint8Array() }
}

/** Returns a function that creates the account of a user, or sets its role to the one that the provider reported. */
export function admitOidcUser({
  records,
  readConfiguredName,
  log,
}: OidcAccountDependencies): (user: OidcUser, address: string) => Promise<LoggedIn | string> {
  return async ({ name, role, namespace }, address) => {
    let problem: string | undefined
    let change: string | undefined
    await records.decide(() => {
      const found = records.find({ kind: 'account', name })
      const isLocal = found !== undefined && !isOfProvider(found)
      if (isLocal || name === readConfiguredName() || records.find({ kind: 'api-key', id: name }) !== undefined) {
        problem = 'is the name of an account or API key of the broker: delete it, or configure another claim'
        return { put: [], delete: [] }
      }
      if (found === undefined && countAdmins(records) >= maxAdmins) {
        problem = 'can have no account: the maximum number of accounts is reached'
        return { put: [], delete: [] }
      }
      if (found?.role === role && found.namespace === namespace) return { put: [], delete: [] }
      change = found === undefined ? 'made' : 'changed'
      const account: AccountRecord = found ?? {
        kind: 'account',
        name,
        description: '',
        role,
        namespace,
        password: createUnusablePassword(),
        createdAtMs: records.createMomentMs(),
      }
      return { put: [{ ...account, role, namespace }], delete: [] }
    })
    if (problem !== undefined) return problem
    if (change !== undefined) log.warn('API accounts changed', { what: `account ${name} ${change}`, by: name, address })
    const account = records.find({ kind: 'account', name })
    return account === undefined ? 'was deleted meanwhile' : toCaller(account)
  }
}
