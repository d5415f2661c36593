import { randomBytes } from 'node:crypto'
import type { AccountOperations, App, User } from './v4.ts'
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

export interface AccountDependencies {
  readonly records: AccessRecords
  readonly work: PasswordHasher
  /** The currently configured account. */
  readonly own: () => ConfiguredAccount
  readonly isHardened: boolean
  readonly log: Log
}

const nothing: NodeRecordChange = { put: [], delete: [] }

/** Returns a change of the current records, or why there is none. */
type ChangePlan = () => NodeRecordChange | AccountRefusal

export function accountOperations(dependencies: AccountDependencies): AccountOperations {
  const { records, log } = dependencies
  const carryOut = async (what: string, by: Requester, plan: ChangePlan): Promise<AccountRefusal | undefined> => {
    let refused: AccountRefusal | undefined
    await records.decide(() => {
      const planned = plan()
      if (typeof planned !== 'string') return planned
      refused = planned
      return nothing
    })
    if (refused === undefined) log.warn('API accounts changed', { what, by: by.name, address: by.address })
    return refused
  }
  return { ...userOperations(dependencies, carryOut), ...appOperations(dependencies, carryOut) }
}

type ApplyChange = (what: string, by: Requester, plan: ChangePlan) => Promise<AccountRefusal | undefined>

type OfUsers =
  | 'users'
  | 'createUser'
  | 'updateUser'
  | 'deleteUser'
  | 'changePassword'
  | 'isWellKnown'
  | 'requireMfa'
  | 'removeMfa'

function userOperations(dependencies: AccountDependencies, carryOut: ApplyChange): Pick<AccountOperations, OfUsers> {
  const { records, work, own } = dependencies
  const find = (name: string): AccountRecord | undefined => records.find({ kind: 'account', name })
  const hasConfiguredPassword = (name: string): boolean => name === own().username && own().password !== undefined
  const replace = (name: string, change: Partial<AccountRecord>): NodeRecordChange | AccountRefusal => {
    const found = find(name)
    return found === undefined ? 'not-found' : { put: [{ ...found, ...change }], delete: [] }
  }
  return {
    users: () => usersOf(dependencies),
    createUser: async ({ password, ...user }, by) => {
      const { name } = user
      if (isTaken(dependencies, name)) return 'exists'
      const kept = await work.hash(password)
      return carryOut(`account ${name} made`, by, () => {
        if (isTaken(dependencies, name)) return 'exists'
        if (countAdmins(records) >= maxAdmins) return 'too-many'
        return {
          put: [{ kind: 'account', ...user, password: kept, createdAtMs: records.newMomentMs() }],
          delete: [],
        }
      })
    },
    updateUser: async (name, change, by) => {
      const { role = 'administrator', namespace } = change
      const isOwn = name === own().username
      if (isOwn && (role !== 'administrator' || namespace !== undefined)) return 'is-own'
      // Everything of the account is in the configuration, so nothing is stored.
      if (isOwn && find(name) === undefined) return undefined
      return carryOut(`account ${name} changed`, by, () => {
        const found = find(name)
        const isOtherRole = change.role !== undefined && (found?.role !== role || found.namespace !== namespace)
        if (found !== undefined && isOfProvider(found) && isOtherRole) return 'is-of-provider'
        return replace(name, change)
      })
    },
    deleteUser: async (name, by) => {
      if (name === own().username) return 'is-own'
      return carryOut(`account ${name} deleted`, by, () =>
        find(name) === undefined ? 'not-found' : { put: [], delete: [{ kind: 'account', name }] },
      )
    },
    changePassword: async (change, by) => {
      const { name } = change
      if (hasConfiguredPassword(name)) return 'is-configured'
      const found = find(name)
      if (found === undefined) return 'not-found'
      if (isOfProvider(found)) return 'is-of-provider'
      const isKnown =
        change.old === undefined || (await work.isPassword(change.old, found.password, authenticatedOrigin))
      if (!isKnown) return 'wrong-password'
      const password = await work.hash(change.new)
      return carryOut(`password of ${name} changed`, by, () =>
        find(name) === found ? replace(name, { password }) : 'wrong-password',
      )
    },
    ...mfaOperations(dependencies, carryOut),
    isWellKnown: (name, password) => dependencies.isHardened && isWellKnownPassword(name, password),
  }
}

const secretBytes = 20

function mfaOperations(
  { records, own }: AccountDependencies,
  carryOut: ApplyChange,
): Pick<AccountOperations, 'requireMfa' | 'removeMfa'> {
  const isConfigured = (name: string): boolean => name === own().username && own().password !== undefined
  const change = (name: string, secondFactor: SecondFactor | undefined): NodeRecordChange | AccountRefusal => {
    const found = records.find({ kind: 'account', name })
    if (found === undefined) return 'not-found'
    if (isOfProvider(found)) return 'is-of-provider'
    if (secondFactor !== undefined && found.secondFactor?.isConfirmed === true) return 'has-mfa'
    return { put: [{ ...found, secondFactor }], delete: [] }
  }
  return {
    requireMfa: async (name, by) => {
      if (isConfigured(name)) return 'is-configured'
      const secret = randomBytes(secretBytes)
      return carryOut(`second factor of ${name} required`, by, () =>
        change(name, { secret, isConfirmed: false, lastStep: 0 }),
      )
    },
    removeMfa: (name, by) => carryOut(`second factor of ${name} removed`, by, () => change(name, undefined)),
  }
}

function usersOf({ records, own }: AccountDependencies): User[] {
  const users = [...records.list('account')].map((record) => userOf(record))
  const isOwnKept = users.some(({ name }) => name === own().username)
  const defaults = {
    role: 'administrator',
    namespace: undefined,
    description: '',
    mfa: 'none',
    backend: 'local',
  } as const
  return isOwnKept ? users : [{ name: own().username, ...defaults }, ...users]
}

function userOf(record: AccountRecord): User {
  const { name, role, namespace, description, secondFactor } = record
  const backend = isOfProvider(record) ? 'oidc' : 'local'
  const mfa = secondFactor === undefined ? 'none' : 'totp'
  // The record cannot have the role publisher; if it had, this is the role with the fewest rights.
  return { name, role: role === 'administrator' ? role : 'viewer', namespace, description, mfa, backend }
}

/** Users and programs authenticate in the same way, so a name belongs to one of them. */
function isTaken({ records, own }: AccountDependencies, name: string): boolean {
  if (name === own().username || records.find({ kind: 'account', name }) !== undefined) return true
  return records.find({ kind: 'api-key', id: name }) !== undefined
}

type OfApps = 'apps' | 'app' | 'createApp' | 'updateApp' | 'deleteApp'

function appOperations(dependencies: AccountDependencies, carryOut: ApplyChange): Pick<AccountOperations, OfApps> {
  const { records } = dependencies
  const find = (id: string): ApiKeyRecord | undefined => records.find({ kind: 'api-key', id })
  return {
    apps: () => [...records.list('api-key')].map((record) => appOf(record)),
    app: (id) => {
      const found = find(id)
      return found === undefined ? undefined : appOf(found)
    },
    createApp: async ({ secret: given, ...app }, by) => {
      const secret = given ?? randomSecret()
      const kept = given === undefined ? hashSecret(secret) : await dependencies.work.hash(secret)
      const refused = await carryOut(`application ${app.id} made`, by, () => {
        if (isTaken(dependencies, app.id)) return 'exists'
        if (countAdmins(records) >= maxAdmins) return 'too-many'
        return { put: [{ kind: 'api-key', ...app, secret: kept, createdAtMs: records.newMomentMs() }], delete: [] }
      })
      return refused ?? { secret }
    },
    updateApp: (id, change, by) =>
      carryOut(`application ${id} changed`, by, () => {
        const found = find(id)
        return found === undefined ? 'not-found' : { put: [{ ...found, ...change }], delete: [] }
      }),
    deleteApp: (id, by) =>
      carryOut(`API key ${id} deleted`, by, () =>
        find(id) === undefined ? 'not-found' : { put: [], delete: [{ kind: 'api-key', id }] },
      ),
  }
}

function appOf({ kind: _kind, secret: _secret, ...app }: ApiKeyRecord): App {
  return app
}

const apiSecretBytes = 32
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 32 random bytes as a number of base 62. */
function randomSecret(): string {
  let rest = BigInt(`0x${randomBytes(apiSecretBytes).toString('hex')}`)
  let text = ''
  for (; rest > 0n; rest /= 62n) text = base62.charAt(Number(rest % 62n)) + text
  return text.padStart(apiSecretBytes, '0')
}
