// Checks accounts, API keys and namespaces of an archive by the rules of the API, so that an archive cannot create what
// the API would refuse.

import type { TableRecord } from '../../backup/index.ts'
import type { AccessRecords } from '../records/access-records.ts'
import { maxNamespaces } from '../records/namespace-limits.ts'
import { maxAdmins } from '../admins/account-limits.ts'

export class AdminCheck {
  readonly #accounts = new Set<string>()
  readonly #programs = new Set<string>()
  readonly #namespaces = new Set<string>()
  /** Accounts with restricted rights. */
  readonly #confined = new Set<string>()

  /** Stores at most the allowed number of names of a table. */
  take(record: TableRecord): void {
    if (record.kind === 'account') {
      note(this.#accounts, record.name, maxAdmins)
      if (record.role !== 'administrator' || record.namespace !== undefined)
        note(this.#confined, record.name, maxAdmins)
    }
    if (record.kind === 'api-key') note(this.#programs, record.id, maxAdmins)
    if (record.kind === 'namespace') note(this.#namespaces, record.name, maxNamespaces)
  }

  /** A sentence; undefined: valid. `ownName`: of the account of `http_server` after the import. */
  problem(records: Pick<AccessRecords, 'find' | 'list'>, ownName: string): string | undefined {
    if (this.#confined.has(ownName)) {
      return `the account ${JSON.stringify(ownName)} is that of http_server here, which stays an administrator of everything`
    }
    const twice = this.#nameOfTwo(records, ownName)
    if (twice !== undefined) {
      return `${JSON.stringify(twice)} would be both an account and an API key: people and programs sign in alike`
    }
    const operators = [...this.#accounts, ...this.#programs].filter((name) => !isKnown(records, name)).length
    const there = [...records.list('account'), ...records.list('api-key')].length
    if (there + operators > maxAdmins) return `there would be more than ${maxAdmins} accounts and API keys`
    const names = [...records.list('namespace')].map(({ name }) => name)
    return new Set([...names, ...this.#namespaces]).size > maxNamespaces
      ? `there would be more than ${maxNamespaces} namespaces`
      : undefined
  }

  #nameOfTwo(records: Pick<AccessRecords, 'find'>, ownName: string): string | undefined {
    for (const name of this.#programs) {
      const isAccount = this.#accounts.has(name) || name === ownName
      if (isAccount || records.find({ kind: 'account', name }) !== undefined) return name
    }
    for (const name of this.#accounts) if (records.find({ kind: 'api-key', id: name }) !== undefined) return name
    return undefined
  }
}

/** One more than the maximum is sufficient. */
function note(names: Set<string>, name: string, max: number): void {
  if (names.size <= max) names.add(name)
}

function isKnown(records: Pick<AccessRecords, 'find'>, name: string): boolean {
  return (
    records.find({ kind: 'account', name }) !== undefined || records.find({ kind: 'api-key', id: name }) !== undefined
  )
}
