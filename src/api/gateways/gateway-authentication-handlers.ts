// Handlers of the authentication of gateways and their listeners, and of the users that it stores.

import type { Caller } from '../../contract/index.ts'
import type { gatewayAuthenticationEndpoints } from './authentication-endpoints.ts'
import { ApiError, refuseFor, quoteShortened, type Handlers } from '../../management/index.ts'
import type { ConfiguredGateways, GatewayAuthentication, GatewayOrListener } from './configured-gateways.ts'
import type { GatewayUser, GatewayUsers } from './gateway-user-operations.ts'
import { findGateway, findGatewayListener } from './gateways.ts'
import type { NotStored } from '../credentials/credential-lists.ts'
import { refuseChange } from '../context/setting-writer.ts'

type Settings = Readonly<Record<string, unknown>>
type Params = { readonly name: string; readonly id?: string }
interface AuthenticationCall<Body = undefined> {
  readonly params: Params
  readonly body: Body
  readonly caller: Caller
}

const defaultLimit = 100
/** Maximum bytes of a UTF-8 string in MQTT. */
const maxTextBytes = 65_535
/** Fields of a reply that are not settings. */
const ownFields: ReadonlySet<string> = new Set(['id', 'code'])

interface Found {
  readonly of: GatewayOrListener
  readonly authentication: GatewayAuthentication | undefined
  /** Name of the gateway or listener, for messages. */
  readonly words: string
}

export function createGatewayAuthenticationHandlers(
  gateways: ConfiguredGateways,
  users: GatewayUsers,
): Handlers<typeof gatewayAuthenticationEndpoints> {
  const ofSettings = createSettingHandlers(gateways, users)
  const ofUsers = createUserHandlers(gateways, users)
  return {
    get_gateway_authentication: ofSettings.get,
    add_gateway_authentication: ofSettings.add,
    change_gateway_authentication: ofSettings.change,
    remove_gateway_authentication: ofSettings.remove,
    get_gateway_users: ofUsers.list,
    add_gateway_user: ofUsers.add,
    get_gateway_user: ofUsers.get,
    change_gateway_user: ofUsers.change,
    remove_gateway_user: ofUsers.remove,
    get_gateway_listener_authentication: ofSettings.get,
    add_gateway_listener_authentication: ofSettings.add,
    change_gateway_listener_authentication: ofSettings.change,
    remove_gateway_listener_authentication: ofSettings.remove,
    get_gateway_listener_users: ofUsers.list,
    add_gateway_listener_user: ofUsers.add,
    get_gateway_listener_user: ofUsers.get,
    change_gateway_listener_user: ofUsers.change,
    remove_gateway_listener_user: ofUsers.remove,
  }
}

function createSettingHandlers(gateways: ConfiguredGateways, users: GatewayUsers) {
  const put = async (found: Found, settings: Settings, caller: Caller): Promise<Settings | ApiError> => {
    if (typeof settings['mechanism'] !== 'string')
      return refuseFor('BAD_REQUEST', 'mechanism is missing: it is password_based or jwt')
    const problem = await gateways.changeAuthentication(found.of, selectSettings(settings), caller)
    if (problem !== undefined) return refuseChange(problem)
    const { gateway, listener } = found.of
    const id = listener === undefined ? undefined : `${gateway}:${listener.type}:${listener.name}`
    const now = await find(gateways, { name: gateway, ...(id === undefined ? {} : { id }) })
    return now instanceof ApiError ? now : { code: 0, ...toResponse(now.authentication) }
  }
  return {
    get: async ({ params }: AuthenticationCall): Promise<Settings | ApiError> => {
      const found = await find(gateways, params)
      return found instanceof ApiError ? found : toResponse(found.authentication)
    },
    add: async ({ params, body, caller }: AuthenticationCall<Settings>): Promise<Settings | ApiError> => {
      const found = await find(gateways, params)
      if (found instanceof ApiError) return found
      if (found.authentication !== undefined)
        return refuseFor('BAD_REQUEST', `${found.words} has an authentication already: change it with PUT`)
      return put(found, body, caller)
    },
    change: async ({ params, body, caller }: AuthenticationCall<Settings>): Promise<Settings | ApiError> => {
      const found = await find(gateways, params)
      if (found instanceof ApiError) return found
      return found.authentication === undefined ? refuseNone(found) : put(found, body, caller)
    },
    remove: async ({ params, caller }: AuthenticationCall): Promise<{ code: 0 } | ApiError> => {
      const found = await find(gateways, params)
      if (found instanceof ApiError) return found
      const problem = await gateways.changeAuthentication(found.of, undefined, caller)
      if (problem !== undefined) return refuseChange(problem)
      const outcome = await users.deleteAll(found.of)
      return outcome === 'deleted' ? { code: 0 } : refuseNotStored(outcome)
    },
  }
}

interface UsersQuery {
  readonly page?: number
  readonly limit?: number
  readonly like_user_id?: string
  readonly is_superuser?: boolean
}
interface NewUser {
  readonly user_id: string
  readonly password: string
  readonly is_superuser?: boolean
}

function createUserHandlers(gateways: ConfiguredGateways, users: GatewayUsers) {
  /** Returns the gateway or listener if its authentication stores users. */
  const findUserOwner = async (params: Params): Promise<Found | ApiError> => {
    const found = await find(gateways, params)
    if (found instanceof ApiError) return found
    if (found.authentication === undefined) return refuseNone(found)
    return found.authentication.hasUsers
      ? found
      : refuseFor('BAD_REQUEST', `the authentication of ${found.words} stores no users: it uses an external service`)
  }
  return {
    list: async ({ params, query }: { readonly params: Params; readonly query: UsersQuery }) => {
      const found = await findUserOwner(params)
      if (found instanceof ApiError) return found
      const { page = 1, limit = defaultLimit, like_user_id: like, is_superuser: isSuperuser } = query
      const { items, count } = await users.list(found.of, { like, isSuperuser, page: { page, limit } })
      return { data: items.map(toUserResponse), meta: { page, limit, count, hasnext: page * limit < count } }
    },
    add: async ({ params, body }: { readonly params: Params; readonly body: NewUser }) => {
      const found = await findUserOwner(params)
      if (found instanceof ApiError) return found
      const { user_id: id, password, is_superuser: isSuperuser = false } = body
      const problem = findNameProblem(id) ?? findPasswordProblem(password)
      if (problem !== undefined) return refuseFor('BAD_REQUEST', problem)
      const outcome = await users.create(found.of, { id, password, isSuperuser })
      if (outcome === 'existed') return refuseFor('CONFLICT', `there is a user ${quoteShortened(id)} already`)
      return outcome === 'created'
        ? { code: 0 as const, ...toUserResponse({ id, isSuperuser }) }
        : refuseNotStored(outcome)
    },
    get: async ({ params }: { readonly params: Params & { readonly uid: string } }) => {
      const found = await findUserOwner(params)
      if (found instanceof ApiError) return found
      const user = users.find(found.of, params.uid)
      return user === undefined ? refuseUnknownUser(params.uid) : toUserResponse(user)
    },
    change: async ({
      params,
      body: { password, is_superuser: isSuperuser },
    }: {
      readonly params: Params & { readonly uid: string }
      readonly body: { readonly password?: string; readonly is_superuser?: boolean }
    }) => {
      const found = await findUserOwner(params)
      if (found instanceof ApiError) return found
      if (password === undefined && isSuperuser === undefined)
        return refuseFor('BAD_REQUEST', 'the body has neither password nor is_superuser')
      const problem = password === undefined ? undefined : findPasswordProblem(password)
      if (problem !== undefined) return refuseFor('BAD_REQUEST', problem)
      const outcome = await users.update(found.of, params.uid, { password, isSuperuser })
      if (outcome === 'missing') return refuseUnknownUser(params.uid)
      return 'notStored' in outcome ? refuseNotStored(outcome) : toUserResponse(outcome)
    },
    remove: async ({ params }: { readonly params: Params & { readonly uid: string } }) => {
      const found = await findUserOwner(params)
      if (found instanceof ApiError) return found
      const outcome = await users.delete(found.of, params.uid)
      if (outcome === 'missing') return refuseUnknownUser(params.uid)
      return outcome === 'deleted' ? { code: 0 as const } : refuseNotStored(outcome)
    },
  }
}

async function find(gateways: ConfiguredGateways, { name, id }: Params): Promise<Found | ApiError> {
  if (id === undefined) {
    const gateway = await findGateway(gateways, name)
    if (gateway instanceof ApiError) return gateway
    return { of: { gateway: name }, authentication: gateway.authentication, words: `the gateway ${name}` }
  }
  const listener = await findGatewayListener(gateways, name, id)
  if (listener instanceof ApiError) return listener
  const { type, name: listenerName, authentication } = listener
  return { of: { gateway: name, listener: { type, name: listenerName } }, authentication, words: `the listener ${id}` }
}

function refuseUnknownUser(id: string): ApiError {
  return refuseFor('NOT_FOUND', `there is no user ${quoteShortened(id)}`)
}

function refuseNone({ words }: Found): ApiError {
  return refuseFor('NOT_FOUND', `${words} has no authentication of its own: add it with POST`)
}

function refuseNotStored({ notStored }: NotStored): ApiError {
  return refuseFor('INTERNAL_ERROR', notStored)
}

/** [MQTT-1.5.3-1, -2] No client could send a user name that is not a valid string of MQTT. */
function findNameProblem(id: string): string | undefined {
  const isText = Buffer.byteLength(id) <= maxTextBytes && id.isWellFormed() && !id.includes('\0')
  return isText
    ? undefined
    : `user_id is longer than ${maxTextBytes} bytes, contains U+0000, or is not well-formed Unicode`
}

function findPasswordProblem(password: string): string | undefined {
  const isText = Buffer.byteLength(password) <= maxTextBytes && password.isWellFormed()
  return isText ? undefined : `password is longer than ${maxTextBytes} bytes, or is not well-formed Unicode`
}

function selectSettings(body: Settings): Settings {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !ownFields.has(key)))
}

const settingsOfKind: Readonly<Record<'built_in_database' | 'http' | 'jwt', readonly string[]>> = {
  built_in_database: ['enable', 'mechanism', 'backend', 'user_id_type', 'password_hash_algorithm'],
  http: 'enable mechanism backend method url headers body request_timeout connect_timeout pool_size'.split(' '),
  jwt: (
    'enable mechanism from algorithm secret secret_base64_encoded public_key verify_claims acl_claim_name ' +
    'disconnect_after_expire'
  ).split(' '),
}

/** Returns the settings as in a reply, with an ID such as `password_based:built_in_database`. */
function toResponse(authentication: GatewayAuthentication | undefined): Settings {
  if (authentication === undefined) return { code: 0 }
  const { settings } = authentication
  const { mechanism, backend } = settings
  const kind = mechanism === 'jwt' ? 'jwt' : backend === 'http' ? 'http' : 'built_in_database'
  const shownSettings = Object.entries(settings).filter(([key]) => settingsOfKind[kind].includes(key))
  return {
    id: kind === 'jwt' ? 'jwt' : `password_based:${kind}`,
    ...(Object.fromEntries(shownSettings) as Settings),
  }
}

function toUserResponse({ id, isSuperuser }: GatewayUser): { user_id: string; is_superuser: boolean } {
  return { user_id: id, is_superuser: isSuperuser }
}
