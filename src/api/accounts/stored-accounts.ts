// Accounts and API keys in the records of the node.

import { randomBytes } from 'node:crypto'
import type { Role } from '../../contract/index.ts'
import type { AccountRefusal } from './account-refusals.ts'
import type { Requester } from '../control/control.ts'
import type { AccountRecord, ApiKeyRecord, SecondFactor } from '../../records/index.ts'
import type { Log } from '../../telemetry/index.ts'
import {
  type AccessRecords,
  type NodeRecordChange,
  countAdmins,
  maxAdmins,
  isOfProvider,
  authenticatedOrigin,
  hashSecret,
  type PasswordHasher,
  type ConfiguredAccount,
  isWellKnownPassword,
} from '../../node/index.ts'

/** An account with a name and a password. */
export interface User {
  readonly name: string
  readonly role: Exclude<Role, 'publisher'>
  /** undefined: in none. */
  readonly namespace: string | undefined
  readonly description: string
  readonly mfa: 'none' | 'totp'
  /** `oidc`: the provider says role and namespace at each login, and there is no password here. */
  readonly backend: 'local' | 'oidc'
}

/** A program with an ID and a secret. */
export interface App {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly role: Role
  readonly namespace: string | undefined
  readonly isEnabled: boolean
  /** Wall clock; undefined: never. */
  readonly expiresAtMs: number | undefined
  /** Wall clock. */
  readonly createdAtMs: number
}

/** Absent fields are unchanged. */
export type AppChange = Partial<Omit<App, 'id' | 'createdAtMs'>>

export interface NewApp extends Omit<App, 'createdAtMs'> {
  /** undefined: a random one. */
  readonly secret: string | undefined
}

export interface AccountDependencies {
  readonly records: AccessRecords
  readonly work: PasswordHasher
  /** The currently configured account. */
  readonly readConfiguredAccount: () => ConfiguredAccount
  readonly isHardened: boolean
  readonly log: Log
}

const secretBytes = 20
const nothing: NodeRecordChange = { put: [], delete: [] }

/** Returns a change of the current records, or why there is none. */
type ChangePlan = () => NodeRecordChange | AccountRefusal

/** Accounts and API keys in the records of the node. Changes are durable when the promise resolves; undefined: success. */
export class StoredAccounts {
  readonly #dependencies: AccountDependencies

  constructor(dependencies: AccountDependencies) {
    this.#dependencies = dependencies
  }

  listUsers(): readonly User[] {
    return listUsers(this.#dependencies)
  }

  async createUser(
    { password, ...user }: Omit<User, 'mfa' | 'backend'> & { readonly password: string },
    by: Requester,
  ): Promise<AccountRefusal | undefined> {
    const { records, work } = this.#dependencies
    const { name } = user
    if (isTaken(this.#dependencies, name)) return 'exists'
    const kept = await work.hash(password)
    return this.#carryOut(`account ${name} made`, by, () => {
      if (isTaken(this.#dependencies, name)) return 'exists'
      if (countAdmins(records) >= maxAdmins) return 'too-many'
      return {
        put: [{ kind: 'account', ...user, password: kept, createdAtMs: records.createMomentMs() }],
        delete: [],
      }
    })
  }

  /** Absent fields are unchanged. */
  async updateUser(
    name: string,
    change: Partial<Omit<User, 'name' | 'mfa' | 'backend'>>,
    by: Requester,
  ): Promise<AccountRefusal | undefined> {
    const { role = 'administrator', namespace } = change
    const isOwn = this.#isOwn(name)
    if (isOwn && (role !== 'administrator' || namespace !== undefined)) return 'is-own'
    // Everything of the account is in the configuration, so nothing is stored.
    if (isOwn && this.#findUser(name) === undefined) return undefined
    return this.#carryOut(`account ${name} changed`, by, () => {
      const found = this.#findUser(name)
      const isOtherRole = change.role !== undefined && (found?.role !== role || found.namespace !== namespace)
      if (found !== undefined && isOfProvider(found) && isOtherRole) return 'is-of-provider'
      return this.#replaceUser(name, change)
    })
  }

  async deleteUser(name: string, by: Requester): Promise<AccountRefusal | undefined> {
    if (this.#isOwn(name)) return 'is-own'
    return this.#carryOut(`account ${name} deleted`, by, () =>
      this.#findUser(name) === undefined ? 'not-found' : { put: [], delete: [{ kind: 'account', name }] },
    )
  }

  /** `old` undefined: not required. */
  async changePassword(
    change: { readonly name: string; readonly old: string | undefined; readonly new: string },
    by: Requester,
  ): Promise<AccountRefusal | undefined> {
    const { work } = this.#dependencies
    const { name } = change
    if (this.#hasConfiguredPassword(name)) return 'is-configured'
    const found = this.#findUser(name)
    if (found === undefined) return 'not-found'
    if (isOfProvider(found)) return 'is-of-provider'
    const isKnown = change.old === undefined || (await work.isPassword(change.old, found.password, authenticatedOrigin))
    if (!isKnown) return 'wrong-password'
    const password = await work.hash(change.new)
    return this.#carryOut(`password of ${name} changed`, by, () =>
      this.#findUser(name) === found ? this.#replaceUser(name, { password }) : 'wrong-password',
    )
  }

  /** From the next login on a one-time code is needed as well. */
  async requireMfa(name: string, by: Requester): Promise<AccountRefusal | undefined> {
    if (this.#hasConfiguredPassword(name)) return 'is-configured'
    const secret = randomBytes(secretBytes)
    return this.#carryOut(`second factor of ${name} required`, by, () =>
      this.#changeMfa(name, { secret, isConfirmed: false, lastStep: 0 }),
    )
  }

  removeMfa(name: string, by: Requester): Promise<AccountRefusal | undefined> {
    return this.#carryOut(`second factor of ${name} removed`, by, () => this.#changeMfa(name, undefined))
  }

  /** Returns whether this is a well-known default password that is not allowed. */
  isWellKnown(name: string, password: string): boolean {
    return this.#dependencies.isHardened && isWellKnownPassword(name, password)
  }

  listApps(): readonly App[] {
    return [...this.#dependencies.records.list('api-key')].map((record) => toApp(record))
  }

  findApp(id: string): App | undefined {
    const found = this.#findApp(id)
    return found === undefined ? undefined : toApp(found)
  }

  async createApp(
    { secret: requestedSecret, ...app }: NewApp,
    by: Requester,
  ): Promise<AccountRefusal | { readonly secret: string }> {
    const { records, work } = this.#dependencies
    const secret = requestedSecret ?? createSecret()
    const kept = requestedSecret === undefined ? hashSecret(secret) : await work.hash(secret)
    const refused = await this.#carryOut(`application ${app.id} made`, by, () => {
      if (isTaken(this.#dependencies, app.id)) return 'exists'
      if (countAdmins(records) >= maxAdmins) return 'too-many'
      return { put: [{ kind: 'api-key', ...app, secret: kept, createdAtMs: records.createMomentMs() }], delete: [] }
    })
    return refused ?? { secret }
  }

  updateApp(id: string, change: AppChange, by: Requester): Promise<AccountRefusal | undefined> {
    return this.#carryOut(`application ${id} changed`, by, () => {
      const found = this.#findApp(id)
      return found === undefined ? 'not-found' : { put: [{ ...found, ...change }], delete: [] }
    })
  }

  deleteApp(id: string, by: Requester): Promise<AccountRefusal | undefined> {
    return this.#carryOut(`API key ${id} deleted`, by, () =>
      this.#findApp(id) === undefined ? 'not-found' : { put: [], delete: [{ kind: 'api-key', id }] },
    )
  }

  /** `plan`: is called with the current records. */
  async #carryOut(event: string, by: Requester, plan: ChangePlan): Promise<AccountRefusal | undefined> {
    const { records, log } = this.#dependencies
    let refused: AccountRefusal | undefined
    await records.decide(() => {
      const planned = plan()
      if (typeof planned !== 'string') return planned
      refused = planned
      return nothing
    })
    if (refused === undefined) log.warn('API accounts changed', { what: event, by: by.name, address: by.address })
    return refused
  }

  #findUser(name: string): AccountRecord | undefined {
    return this.#dependencies.records.find({ kind: 'account', name })
  }

  #findApp(id: string): ApiKeyRecord | undefined {
    return this.#dependencies.records.find({ kind: 'api-key', id })
  }

  #isOwn(name: string): boolean {
    return name === this.#dependencies.readConfiguredAccount().username
  }

  #hasConfiguredPassword(name: string): boolean {
    return this.#isOwn(name) && this.#dependencies.readConfiguredAccount().password !== undefined
  }

  #replaceUser(name: string, change: Partial<AccountRecord>): NodeRecordChange | AccountRefusal {
    const found = this.#findUser(name)
    return found === undefined ? 'not-found' : { put: [{ ...found, ...change }], delete: [] }
  }

  #changeMfa(name: string, secondFactor: SecondFactor | undefined): NodeRecordChange | AccountRefusal {
    const found = this.#findUser(name)
    if (found === undefined) return 'not-found'
    if (isOfProvider(found)) return 'is-of-provider'
    if (secondFactor !== undefined && found.secondFactor?.isConfirmed === true) return 'has-mfa'
    return { put: [{ ...found, secondFactor }], delete: [] }
  }
}

function listUsers({ records, readConfiguredAccount }: AccountDependencies): User[] {
  const users = [...records.list('account')].map((record) => toUser(record))
  const isOwnKept = users.some(({ name }) => name === readConfiguredAccount().username)
  const defaults = {
    role: 'administrator',
    namespace: undefined,
    description: '',
    mfa: 'none',
    backend: 'local',
  } as const
  return isOwnKept ? users : [{ name: readConfiguredAccount().username, ...defaults }, ...users]
}

function toUser(record: AccountRecord): User {
  const { name, role, namespace, description, secondFactor } = record
  const backend = isOfProvider(record) ? 'oidc' : 'local'
  const mfa = secondFactor === undefined ? 'none' : 'totp'
  // The record cannot have the role publisher; if it had, this is the role with the fewest rights.
  return { name, role: role === 'administrator' ? role : 'viewer', namespace, description, mfa, backend }
}

/** Users and programs authenticate in the same way, so a name belongs to one of them. */
function isTaken({ records, readConfiguredAccount }: AccountDependencies, name: string): boolean {
  if (name === readConfiguredAccount().username || records.find({ kind: 'account', name }) !== undefined) return true
  return records.find({ kind: 'api-key', id: name }) !== undefined
}

function toApp({ kind: _kind, secret: _secret, ...app }: ApiKeyRecord): App {
  return app
}

const apiSecretBytes = 32
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 32 random bytes as a number of base 62. */
function createSecret(): string {
  let rest = BigInt(`0x${randomBytes(apiSecretBytes).toString('hex')}`)
  let text = ''
  for (; rest > 0n; rest /= 62n) text = base62.charAt(Number(rest % 62n)) + text
  return text.padStart(apiSecretBytes, '0')
}
