// Accounts of this API: users with a name and a password, programs with an ID and a secret.

import { responseWith, noContent, endpoint, Type } from '../../contract/index.ts'

const role = Type.Union([Type.Literal('administrator'), Type.Literal('viewer')], {
  description: 'Role: `administrator` may read and change, `viewer` may only read.',
})
const roleOfApiKey = Type.Union([...role.anyOf, Type.Literal('publisher')], {
  description: 'Role: `administrator` may read and change, `viewer` may only read, `publisher` may only publish.',
})

/** The name in version 5. */
function sameAsTags<Schema extends typeof role | typeof roleOfApiKey>(schema: Schema): Schema {
  return { ...schema, description: 'Another name for `tags`.' }
}

const namespace = Type.Optional(
  Type.String({ description: 'Namespace to which the access is limited; absent: the whole broker.' }),
)
const name = Type.String({ minLength: 1, maxLength: 256, description: 'User name for basic authentication.' })
const user = Type.Object({ username: Type.String(), tags: role, namespace })
const ofUser = Type.Object({ username: Type.String() })

const seconds = Type.Union([Type.Integer({ minimum: 0, maximum: 253_402_300_799 }), Type.Null()], {
  description: 'Time at which the API key expires, in seconds since 1970; null: never.',
})
const app = Type.Object({
  app_id: Type.String(),
  name: Type.String(),
  desc: Type.String(),
  status: Type.Boolean({ description: 'true: the API key is enabled; false: requests with this key are refused.' }),
  expired: seconds,
  tags: roleOfApiKey,
  namespace,
})
const ofApp = Type.Object({ app_id: Type.String() })
const appChange = {
  name: Type.Optional(Type.String({ maxLength: 256 })),
  desc: Type.Optional(Type.String({ maxLength: 1_024 })),
  status: Type.Optional(Type.Boolean()),
  expired: Type.Optional(seconds),
  tags: Type.Optional(roleOfApiKey),
  role: Type.Optional(sameAsTags(roleOfApiKey)),
}
const secret = Type.String({
  minLength: 16,
  maxLength: 1_024,
  description: 'Secret of the API key; absent: the broker creates a random secret.',
})

export const accountEndpoints = {
  check_password: endpoint({
    method: 'POST',
    path: '/auth',
    summary: 'Checks the user name and the password of an account of this API.',
    body: Type.Object({ username: Type.String(), password: Type.String() }),
    reply: noContent,
    failures: ['wrongCredentials', 'emptyCredentials'],
    access: 'open',
  }),
  list_users: endpoint({
    method: 'GET',
    path: '/users',
    summary: 'Lists the accounts of this API.',
    reply: responseWith(Type.Array(user)),
    access: 'accounts',
  }),
  create_user: endpoint({
    method: 'POST',
    path: '/users',
    summary: 'Creates an account of this API.',
    body: Type.Object({
      username: Type.String({ maxLength: 256, description: 'User name for basic authentication.' }),
      password: Type.String({ description: 'Password of the account: 8 to 64 ASCII characters.' }),
      tags: Type.Optional(role),
      role: Type.Optional(sameAsTags(role)),
    }),
    reply: noContent,
    failures: ['emptyCredentials', 'userExists'],
    otherStatuses: [['emptyCredentials', 400]],
    access: 'accounts',
  }),
  update_user: endpoint({
    method: 'PUT',
    path: '/users/:username',
    summary: 'Changes the role of an account.',
    params: ofUser,
    body: Type.Object({ tags: Type.Optional(role), role: Type.Optional(sameAsTags(role)) }),
    reply: noContent,
    failures: ['userNotFound'],
    access: 'accounts',
  }),
  delete_user: endpoint({
    method: 'DELETE',
    path: '/users/:username',
    summary: 'Deletes an account. The account of `http_server` cannot be deleted.',
    params: ofUser,
    reply: noContent,
    failures: ['userNotFound', 'adminCannotBeDeleted'],
    access: 'accounts',
  }),
  change_password: endpoint({
    method: 'PUT',
    path: '/change_pwd/:username',
    summary: 'Changes the password of an account. Requires the old password, except over the local socket.',
    params: ofUser,
    body: Type.Object({
      old_pwd: Type.Optional(
        Type.String({ description: 'Old password. Required over HTTP, not over the local socket.' }),
      ),
      new_pwd: Type.String({ description: 'New password: 8 to 64 ASCII characters.' }),
    }),
    reply: noContent,
    failures: ['userNotFound', 'wrongOldPassword', 'missingParameter'],
    access: 'own-account',
  }),
  list_apps: endpoint({
    method: 'GET',
    path: '/apps',
    summary: 'Lists the API keys, without their secrets.',
    reply: responseWith(Type.Array(app)),
    access: 'accounts',
  }),
  create_app: endpoint({
    method: 'POST',
    path: '/apps',
    summary: 'Creates an API key. Only this response contains the secret.',
    body: Type.Object({ app_id: name, secret: Type.Optional(secret), ...appChange }),
    reply: responseWith(Type.Object({ secret: Type.String() })),
    failures: ['userExists'],
    access: 'accounts',
  }),
  lookup_app: endpoint({
    method: 'GET',
    path: '/apps/:app_id',
    summary: 'Returns an API key, without its secret.',
    params: ofApp,
    reply: responseWith(app),
    failures: ['userNotFound'],
    access: 'accounts',
  }),
  update_app: endpoint({
    method: 'PUT',
    path: '/apps/:app_id',
    summary: 'Changes an API key. Absent members stay unchanged.',
    params: ofApp,
    body: Type.Object(appChange),
    reply: noContent,
    failures: ['userNotFound'],
    access: 'accounts',
  }),
  delete_app: endpoint({
    method: 'DELETE',
    path: '/apps/:app_id',
    summary: 'Deletes an API key. Programs with this key lose access at once.',
    params: ofApp,
    reply: noContent,
    failures: ['userNotFound'],
    access: 'accounts',
  }),
}
