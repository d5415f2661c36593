// Accounts and API keys in version 4 of the API.

import type { accountEndpoints } from './v4-endpoints.ts'
import type { ReplyOf, RequestOf } from '../../contract/index.ts'
import { refuseAccount, type AccountRefusal } from './account-refusals.ts'
import type { App, AppChange, StoredAccounts } from './stored-accounts.ts'
import { type Handlers, ApiError, refuse, readRequestedRole, type Authenticator } from '../../management/index.ts'

type Known = typeof accountEndpoints

export function createAccountHandlers(accounts: StoredAccounts, authenticator: () => Authenticator): Handlers<Known> {
  return {
    check_password: async ({ body: { username, password }, caller, gone }) => {
      const found = await authenticator().logIn(username, password, caller.address, { gone })
      return found instanceof ApiError ? found : { code: 0 }
    },
    ...createUserHandlers(accounts),
    ...createAppHandlers(accounts),
  }
}

type UserEndpoints = 'list_users' | 'create_user' | 'update_user' | 'delete_user' | 'change_password'

function createUserHandlers(accounts: StoredAccounts): Handlers<Pick<Known, UserEndpoints>> {
  return {
    list_users: () => {
      const data = accounts.listUsers().map(({ name, role, namespace }) => ({
        username: name,
        tags: role,
        ...(namespace === undefined ? {} : { namespace }),
      }))
      return { code: 0, data }
    },
    create_user: async ({ body, caller }) => {
      const { username, password } = body
      if (username === '' || password === '') return refuse('emptyCredentials', 'username or password is empty', 400)
      const role = readRequestedRole(body) ?? 'administrator'
      if (role instanceof ApiError) return role
      const refused = checkPassword(accounts, username, password)
      if (refused !== undefined) return refused
      const user = { name: username, role, namespace: undefined, description: '' }
      return toOutcomeResponse(await accounts.createUser({ ...user, password }, caller), username)
    },
    update_user: async ({ params: { username }, body, caller }) => {
      const role = readRequestedRole(body)
      if (role instanceof ApiError) return role
      if (role === undefined) return refuse('missingParameter', 'tags in the body is missing')
      return toOutcomeResponse(await accounts.updateUser(username, { role }, caller), username)
    },
    delete_user: async ({ params: { username }, caller }) =>
      toOutcomeResponse(await accounts.deleteUser(username, caller), username),
    change_password: async ({ params: { username }, body: { old_pwd: old, new_pwd: password }, caller }) => {
      const refused = checkPassword(accounts, username, password)
      if (refused !== undefined) return refused
      // A user of the control socket may do everything: a lost password is reset there.
      if (old === undefined && caller.by !== 'socket')
        return refuse('missingParameter', 'old_pwd in the body is missing')
      return toOutcomeResponse(await accounts.changePassword({ name: username, old, new: password }, caller), username)
    },
  }
}

type AppEndpoints = 'list_apps' | 'create_app' | 'lookup_app' | 'update_app' | 'delete_app'

function createAppHandlers(accounts: StoredAccounts): Handlers<Pick<Known, AppEndpoints>> {
  return {
    list_apps: () => ({ code: 0, data: accounts.listApps().map(toResponse) }),
    create_app: async ({ body, caller }) => {
      const { app_id: id, secret } = body
      const given = parseAppChange(body)
      if (given instanceof ApiError) return given
      const defaults = {
        name: id,
        description: '',
        role: 'administrator',
        namespace: undefined,
        isEnabled: true,
        expiresAtMs: undefined,
      } as const
      const made = await accounts.createApp({ ...defaults, ...given, id, secret }, caller)
      return typeof made === 'string' ? refuseAccount(made, id) : { code: 0, data: { secret: made.secret } }
    },
    lookup_app: ({ params: { app_id: id } }) => {
      const found = accounts.findApp(id)
      return found === undefined ? refuseAccount('not-found', id) : { code: 0, data: toResponse(found) }
    },
    update_app: async ({ params: { app_id: id }, body, caller }) => {
      const change = parseAppChange(body)
      return change instanceof ApiError ? change : toOutcomeResponse(await accounts.updateApp(id, change, caller), id)
    },
    delete_app: async ({ params: { app_id: id }, caller }) =>
      toOutcomeResponse(await accounts.deleteApp(id, caller), id),
  }
}

const msPerSecond = 1_000

type AppReply = ReplyOf<Known['lookup_app']>['data']

function toResponse({ id, name, description, role, namespace, isEnabled, expiresAtMs }: App): AppReply {
  const expired = expiresAtMs === undefined ? null : Math.floor(expiresAtMs / msPerSecond)
  const ofNamespace = namespace === undefined ? {} : { namespace }
  return { app_id: id, name, desc: description, status: isEnabled, expired, tags: role, ...ofNamespace }
}

function parseAppChange(body: RequestOf<Known['update_app']>['body']): AppChange | ApiError {
  const { name, desc, status, expired } = body
  const role = readRequestedRole(body)
  if (role instanceof ApiError) return role
  return {
    ...(name === undefined ? {} : { name }),
    ...(desc === undefined ? {} : { description: desc }),
    ...(status === undefined ? {} : { isEnabled: status }),
    ...(expired === undefined ? {} : { expiresAtMs: expired === null ? undefined : expired * msPerSecond }),
    ...(role === undefined ? {} : { role }),
  }
}

const passwordForm = /^[\x20-\x7e]{8,64}$/

/** Returns why a password is not allowed. */
export function checkPassword(accounts: StoredAccounts, name: string, password: string): ApiError | undefined {
  if (!passwordForm.test(password)) {
    return refuse(
      'invalidParameter',
      'a password has 8 to 64 characters, all of them letters, digits and signs of ASCII',
    )
  }
  if (!accounts.isWellKnown(name, password)) return undefined
  return refuse('invalidParameter', 'this is a well-known password: choose another one')
}

function toOutcomeResponse(refused: AccountRefusal | undefined, name: string): { code: 0 } | ApiError {
  return refused === undefined ? { code: 0 } : refuseAccount(refused, name)
}
