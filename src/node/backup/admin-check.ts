// Checks accounts, API keys and namespaces of an archive by the rules of the API, so that an archive cannot create what
// the API would refuse.

import type { TableRecord } from '../../backup/index.ts'
import type { AccessRecords } from '../records/stored-access-records.ts'
import { maxNamespaces } from '../records/namespace-limits.ts'
import { maxAdmins } from '../admins/account-limits.ts'

export class AdminCheck {
  readonly #accounts = new Set<string>()
  readonly #apiKeyIds = new Set<string>()
  readonly #namespaces = new Set<string>()
  /** Accounts that are not global administrators. */
  readonly #restrictedAccounts = new Set<string>()

  /** Collects the name of a record that is an account, an API key or a namespace. */
  add(record: TableRecord): void {
    if (record.kind === 'account') {
      addName(this.#accounts, record.name, maxAdmins)
      if (record.role !== 'administrator' || record.namespace !== undefined)
        addName(this.#restrictedAccounts, record.name, maxAdmins)
    }
    if (record.kind === 'api-key') addName(this.#apiKeyIds, record.id, maxAdmins)
    if (record.kind === 'namespace') addName(this.#namespaces, record.name, maxNamespaces)
  }

  /**
   * Returns why the archive must not be imported, as a sentence; undefined: it may. `ownName`: name of the account of
   * `http_server` after the import.
   */
  findProblem(records: Pick<AccessRecords, 'find' | 'list'>, ownName: string): string | undefined {
    if (this.#restrictedAccounts.has(ownName)) {
      return `${JSON.stringify(ownName)} is the account of http_server of this broker, which must be a global administrator: rename the account in the archive, or change http_server.username`
    }
    const ambiguous = this.#findAmbiguousName(records, ownName)
    if (ambiguous !== undefined) {
      return `${JSON.stringify(ambiguous)} would be both the name of an account and the ID of an API key, and both log in in the same way: rename or delete one of them`
    }
    const newCount = [...this.#accounts, ...this.#apiKeyIds].filter((name) => !isKnown(records, name)).length
    const existingCount = [...records.list('account'), ...records.list('api-key')].length
    if (existingCount + newCount > maxAdmins) return `there would be more than ${maxAdmins} accounts and API keys`
    const names = [...records.list('namespace')].map(({ name }) => name)
    return new Set([...names, ...this.#namespaces]).size > maxNamespaces
      ? `there would be more than ${maxNamespaces} namespaces`
      : undefined
  }

  /** Returns a name that would be both the name of an account and the ID of an API key. */
  #findAmbiguousName(records: Pick<AccessRecords, 'find'>, ownName: string): string | undefined {
    for (const name of this.#apiKeyIds) {
      const isAccount = this.#accounts.has(name) || name === ownName
      if (isAccount || records.find({ kind: 'account', name }) !== undefined) return name
    }
    for (const name of this.#accounts) if (records.find({ kind: 'api-key', id: name }) !== undefined) return name
    return undefined
  }
}

/** Adds the name. At most `max + 1` names are stored: they are sufficient to detect that the maximum is exceeded. */
function addName(names: Set<string>, name: string, max: number): void {
  if (names.size <= max) names.add(name)
}

function isKnown(records: Pick<AccessRecords, 'find'>, name: string): boolean {
  return (
    records.find({ kind: 'account', name }) !== undefined || records.find({ kind: 'api-key', id: name }) !== undefined
  )
}
