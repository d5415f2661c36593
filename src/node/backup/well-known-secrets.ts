// Accounts and API keys of an archive whose password or secret is well known. A hardened node refuses their logins: see
// `admin-authentication.ts`. The report of an import names them.

import type { TableRecord } from '../../backup/index.ts'
import type { AccountRecord } from '../../records/index.ts'
import { isSecret, PasswordHasher } from '../admins/password-hashing.ts'
import { listWellKnownPasswords } from '../admins/well-known-passwords.ts'

/** Each check of a password costs almost a tenth of a second; one of a secret costs nothing. */
const maxAccountsTried = 20
const maxKeysNamed = 100

export class WellKnownSecrets {
  readonly #accounts: AccountRecord[] = []
  readonly #apiKeys: string[] = []

  add(record: TableRecord): void {
    if (record.kind === 'account' && this.#accounts.length < maxAccountsTried) this.#accounts.push(record)
    if (record.kind !== 'api-key' || this.#apiKeys.length >= maxKeysNamed) return
    const { id, secret } = record
    if (listWellKnownPasswords(id).some((word) => isSecret(word, secret))) this.#apiKeys.push(id)
  }

  /** Returns a sentence for each account and API key that cannot log in on a hardened node. */
  async describe(): Promise<readonly string[]> {
    const hasher = new PasswordHasher()
    const found = this.#apiKeys.map(
      (id) => `the API key ${JSON.stringify(id)} has a well-known secret: with the profile hardened it cannot log in`,
    )
    for (const { name, password } of this.#accounts) {
      for (const tried of new Set(['public', name])) {
        if (!(await hasher.isPassword(tried, password, ''))) continue
        found.push(
          `the account ${JSON.stringify(name)} has a well-known password: with the profile hardened it cannot log in`,
        )
      }
    }
    return found
  }
}
