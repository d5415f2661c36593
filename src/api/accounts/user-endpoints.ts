// Users of this API.

import { noContent, endpoint, Type } from '../../contract/index.ts'
import { namespaceOrNull, roleOfUser, sameAsRole, scopes } from './role-schemas.ts'

const record = {
  username: Type.String(),
  role: roleOfUser,
  description: Type.String(),
  backend: Type.Union([Type.Literal('local'), Type.Literal('oidc')]),
  mfa: Type.Union([Type.Literal('none'), Type.Literal('totp')]),
  scopes,
  namespace: namespaceOrNull,
}
const description = Type.String({ maxLength: 1_024 })
const password = Type.String({ description: 'Password: 8 to 64 ASCII characters.' })
const params = Type.Object({ username: Type.String() })

export const userEndpoints = {
  get_users: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/users',
    summary: 'Lists the accounts of this API.',
    reply: Type.Object({ code: Type.Literal(0), data: Type.Array(Type.Object(record)) }),
    access: 'accounts',
  }),
  add_user: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/users',
    summary: 'Creates an account of this API.',
    body: Type.Object({
      username: Type.String({ minLength: 1, maxLength: 256 }),
      password,
      role: Type.Optional(roleOfUser),
      tags: Type.Optional(sameAsRole(roleOfUser)),
      namespace: Type.Optional(namespaceOrNull),
      description: Type.Optional(description),
    }),
    reply: Type.Object({ code: Type.Literal(0), ...record }),
    access: 'accounts',
  }),
  change_user: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/users/:username',
    summary: 'Changes role or description of an account. Absent members stay unchanged.',
    params,
    body: Type.Object({
      role: Type.Optional(roleOfUser),
      tags: Type.Optional(sameAsRole(roleOfUser)),
      namespace: Type.Optional(namespaceOrNull),
      description: Type.Optional(description),
    }),
    reply: Type.Object({ code: Type.Literal(0), ...record }),
    reasons: ['USER_NOT_FOUND', 'NOT_ALLOWED'],
    access: 'accounts',
  }),
  remove_user: endpoint({
    version: 'v5',
    method: 'DELETE',
    path: '/users/:username',
    summary: "Deletes an account. The caller's own account and the account of `http_server` cannot be deleted.",
    params,
    reply: noContent,
    reasons: ['USER_NOT_FOUND', 'NOT_ALLOWED'],
    access: 'accounts',
  }),
  change_pwd: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/users/:username/change_pwd',
    summary: 'Changes the password of an account. Requires the old password. Logins with the old password end.',
    params,
    body: Type.Object({ old_pwd: Type.String(), new_pwd: password }),
    reply: noContent,
    reasons: ['USER_NOT_FOUND', 'ERROR_PWD_NOT_MATCH'],
    access: 'own-account',
  }),
  change_mfa: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/users/:username/mfa',
    summary:
      'Requires a second factor: from the next login on, the account needs a one-time code (RFC 6238). That login returns the secret.',
    params,
    body: Type.Object({ mechanism: Type.Literal('totp') }),
    reply: noContent,
    reasons: ['USER_NOT_FOUND', 'CONFLICT'],
    access: 'own-account',
  }),
  remove_mfa: endpoint({
    version: 'v5',
    method: 'DELETE',
    path: '/users/:username/mfa',
    summary:
      'Removes the second factor of an account, for example if the device with the codes is lost. The password is then sufficient.',
    params,
    reply: noContent,
    reasons: ['USER_NOT_FOUND'],
    access: 'accounts',
  }),
}
