// The authentication of a gateway, or of one of its listeners, and the users that are stored for it. Each path is there twice:
// below the gateway and below the listener.

import { endpoint, Type } from '../../contract/index.ts'

const zero = Type.Literal(0)
const done = Type.Object({ code: zero })
const number = Type.Number({ minimum: 0 })
const settings = Type.Record(Type.String(), Type.Unknown(), {
  description: '`mechanism`, `backend` and further settings as in the configuration file. Secrets are masked.',
})
const userId = Type.String({ minLength: 1, description: 'User name or client ID, as `user_id_type` says.' })
const password = Type.String({
  minLength: 1,
  description: 'Password. The broker does not store it in readable form and never returns it.',
})
const isSuperuser = Type.Boolean({ description: 'true: access rules do not apply to this user.' })
const user = { user_id: Type.String(), is_superuser: Type.Boolean() }

const usersQuery = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  like_user_id: Type.Optional(Type.String({ description: 'Text that the name of the user contains.' })),
  is_superuser: Type.Optional(Type.Boolean()),
})
const userPage = Type.Object({
  data: Type.Array(Type.Object(user)),
  meta: Type.Object({ page: number, limit: number, count: number, hasnext: Type.Boolean() }),
})

const ofGateway = { name: Type.String() }
const ofListener = {
  name: Type.String(),
  id: Type.String({ description: 'Identifier of the listener, such as `coap:udp:default`.' }),
}
const userParam = { uid: Type.String({ description: 'Name of the user, percent-encoded.' }) }

function defineAuthenticationEndpoints<Params extends typeof ofGateway>(
  path: string,
  pathParams: Params,
  owner: string,
) {
  const params = Type.Object(pathParams)
  return {
    get: endpoint({
      version: 'v5',
      method: 'GET',
      path,
      summary: `Returns the authentication of ${owner}, or only the code if none is configured there.`,
      params,
      reply: settings,
      reasons: ['NOT_FOUND'],
      access: 'read',
    }),
    add: endpoint({
      version: 'v5',
      method: 'POST',
      path,
      summary: `Creates the authentication of ${owner}.`,
      params,
      body: settings,
      reply: settings,
      reasons: ['NOT_FOUND', 'BAD_REQUEST'],
      access: 'change',
    }),
    change: endpoint({
      version: 'v5',
      method: 'PUT',
      path,
      summary: `Replaces the authentication of ${owner}. Its users stay.`,
      params,
      body: settings,
      reply: settings,
      reasons: ['NOT_FOUND', 'BAD_REQUEST'],
      access: 'change',
    }),
    remove: endpoint({
      version: 'v5',
      method: 'DELETE',
      path,
      summary: `Removes the authentication of ${owner} with its users.`,
      params,
      reply: done,
      reasons: ['NOT_FOUND', 'BAD_REQUEST'],
      access: 'change',
    }),
  }
}

function defineUserEndpoints<Params extends typeof ofGateway>(
  authentication: string,
  pathParams: Params,
  owner: string,
) {
  const path = `${authentication}/users`
  const onePath = `${path}/:uid`
  const params = Type.Object(pathParams)
  const userParams = Type.Object({ ...pathParams, ...userParam })
  return {
    list: endpoint({
      version: 'v5',
      method: 'GET',
      path,
      summary: `Lists users of ${owner}, the newest first.`,
      params,
      query: usersQuery,
      reply: userPage,
      reasons: ['NOT_FOUND', 'BAD_REQUEST'],
      access: 'read',
    }),
    add: endpoint({
      version: 'v5',
      method: 'POST',
      path,
      summary: `Stores a user of ${owner}. New connections can use it at once.`,
      params,
      body: Type.Object({ user_id: userId, password, is_superuser: Type.Optional(isSuperuser) }),
      reply: Type.Object({ code: zero, ...user }),
      reasons: ['NOT_FOUND', 'BAD_REQUEST', 'CONFLICT'],
      access: 'change',
    }),
    get: endpoint({
      version: 'v5',
      method: 'GET',
      path: onePath,
      summary: `Returns a user of ${owner}.`,
      params: userParams,
      reply: Type.Object(user),
      reasons: ['NOT_FOUND', 'BAD_REQUEST'],
      access: 'read',
    }),
    change: endpoint({
      version: 'v5',
      method: 'PUT',
      path: onePath,
      summary: `Changes the password or the rights of a user of ${owner}.`,
      params: userParams,
      body: Type.Object({ password: Type.Optional(password), is_superuser: Type.Optional(isSuperuser) }),
      reply: Type.Object(user),
      reasons: ['NOT_FOUND', 'BAD_REQUEST'],
      access: 'change',
    }),
    remove: endpoint({
      version: 'v5',
      method: 'DELETE',
      path: onePath,
      summary: `Removes a user of ${owner}. Connected clients stay connected.`,
      params: userParams,
      reply: done,
      reasons: ['NOT_FOUND', 'BAD_REQUEST'],
      access: 'change',
    }),
  }
}

const gatewayPath = '/gateways/:name/authentication'
const listenerPath = '/gateways/:name/listeners/:id/authentication'
const gateway = defineAuthenticationEndpoints(gatewayPath, ofGateway, 'a gateway')
const listener = defineAuthenticationEndpoints(listenerPath, ofListener, 'a listener of a gateway')
const gatewayUsers = defineUserEndpoints(gatewayPath, ofGateway, 'a gateway')
const listenerUsers = defineUserEndpoints(listenerPath, ofListener, 'a listener of a gateway')

export const gatewayAuthenticationEndpoints = {
  get_gateway_authentication: gateway.get,
  add_gateway_authentication: gateway.add,
  change_gateway_authentication: gateway.change,
  remove_gateway_authentication: gateway.remove,
  get_gateway_users: gatewayUsers.list,
  add_gateway_user: gatewayUsers.add,
  get_gateway_user: gatewayUsers.get,
  change_gateway_user: gatewayUsers.change,
  remove_gateway_user: gatewayUsers.remove,
  get_gateway_listener_authentication: listener.get,
  add_gateway_listener_authentication: listener.add,
  change_gateway_listener_authentication: listener.change,
  remove_gateway_listener_authentication: listener.remove,
  get_gateway_listener_users: listenerUsers.list,
  add_gateway_listener_user: listenerUsers.add,
  get_gateway_listener_user: listenerUsers.get,
  change_gateway_listener_user: listenerUsers.change,
  remove_gateway_listener_user: listenerUsers.remove,
}
