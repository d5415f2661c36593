// Accounts (`/users`) in version 5 of the API.

import type { ReplyOf } from '../../contract/index.ts'
import type { userEndpoints } from './user-endpoints.ts'
import { refuseAccountFor, type AccountRefusal } from './account-refusals.ts'
import { type Handlers, ApiError, refuseFor } from '../../management/index.ts'
import type { StoredAccounts, User } from './stored-accounts.ts'
import { checkPassword } from './v4.ts'
import { readRoleAssignment, type RoleAssignment, formatRole } from './roles.ts'

type Known = typeof userEndpoints

export function createUserV5Handlers(accounts: StoredAccounts): Handlers<Known> {
  const find = (name: string): User | undefined => accounts.listUsers().find((user) => user.name === name)
  const respondWithUser = (name: string): ReplyOf<Known['add_user']> | ApiError => {
    const user = find(name)
    return user === undefined ? refuseAccountFor('not-found', name) : { code: 0, ...toResponse(user) }
  }
  return {
    get_users: () => ({ code: 0, data: accounts.listUsers().map(toResponse) }),
    add_user: async ({ body, caller }) => {
      const { username: name, password, description = '' } = body
      const report = readRoleAssignment(body, newcomer)
      if (report instanceof ApiError) return report
      const weak = checkPassword(accounts, name, password)
      if (weak !== undefined) return weak
      const refused = await accounts.createUser({ name, ...report, description, password }, caller)
      return refused === undefined ? respondWithUser(name) : refuseAccountFor(refused, name)
    },
    change_user: async ({ params: { username: name }, body, caller }) => {
      const before = find(name)
      if (before === undefined) return refuseAccountFor('not-found', name)
      const report = readRoleAssignment(body, before)
      if (report instanceof ApiError) return report
      const { role, namespace } = report
      const { description = before.description } = body
      const refused = await accounts.updateUser(name, { role, namespace, description }, caller)
      return refused === undefined ? respondWithUser(name) : refuseAccountFor(refused, name)
    },
    remove_user: async ({ params: { username: name }, caller }) => {
      if (caller.by === 'account' && caller.name === name) {
        return refuseFor('NOT_ALLOWED', 'you cannot delete the account that you are logged in with')
      }
      return toOutcomeResponse(await accounts.deleteUser(name, caller), name)
    },
    change_mfa: async ({ params: { username: name }, caller }) =>
      toOutcomeResponse(await accounts.requireMfa(name, caller), name),
    remove_mfa: async ({ params: { username: name }, caller }) =>
      toOutcomeResponse(await accounts.removeMfa(name, caller), name),
    change_pwd: async ({ params: { username: name }, body: { old_pwd: old, new_pwd: password }, caller }) => {
      const weak = checkPassword(accounts, name, password)
      if (weak !== undefined) return weak
      return toOutcomeResponse(await accounts.changePassword({ name, old, new: password }, caller), name)
    },
  }
}

const newcomer: RoleAssignment<User['role']> = { role: 'administrator', namespace: undefined }

function toResponse(user: User): ReplyOf<Known['get_users']>['data'][number] {
  const { name, description, namespace = null, mfa, backend } = user
  return { username: name, role: formatRole(user), description, backend, mfa, scopes: null, namespace }
}

function toOutcomeResponse(refused: AccountRefusal | undefined, name: string): { code: 0 } | ApiError {
  return refused === undefined ? { code: 0 } : refuseAccountFor(refused, name)
}
