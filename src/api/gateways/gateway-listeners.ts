// Listeners of gateways.

import type { gatewayListenerEndpoints } from './listener-endpoints.ts'
import { ApiError, refuseFor, type Handlers } from '../../management/index.ts'
import type { ConfiguredGateways, GatewayListener } from './configured-gateways.ts'
import type { GatewayUsers } from './gateway-user-operations.ts'
import { findGateway, findGatewayListener, formatListenerId } from './gateways.ts'
import { refuseChange } from '../context/setting-writer.ts'

type Settings = Readonly<Record<string, unknown>>

/** Fields of a response that are not settings. */
const ownFields: ReadonlySet<string> = new Set(['id', 'type', 'name', 'running', 'current_connections'])

export function createGatewayListenerHandlers(
  gateways: ConfiguredGateways,
  users: GatewayUsers,
): Handlers<typeof gatewayListenerEndpoints> {
  const find = (name: string, id: string): Promise<GatewayListener | ApiError> =>
    findGatewayListener(gateways, name, id)
  const respondWithListener = async (name: string, id: string): Promise<Settings | ApiError> => {
    const listener = await find(name, id)
    return listener instanceof ApiError ? listener : toResponse(name, listener)
  }
  return {
    get_gateway_listeners: async ({ params: { name } }) => {
      const gateway = await findGateway(gateways, name)
      return gateway instanceof ApiError ? gateway : gateway.listeners.map((one) => toResponse(name, one))
    },
    add_gateway_listener: async ({ params: { name }, body, caller }) => {
      const gateway = await findGateway(gateways, name)
      if (gateway instanceof ApiError) return gateway
      const place = parseListenerName(name, body)
      if (place instanceof ApiError) return place
      const { type, name: listener } = place
      const id = `${name}:${type}:${listener}`
      if (gateway.listeners.some((one) => formatListenerId(name, one) === id))
        return refuseFor('BAD_REQUEST', `there is a listener ${id} already: change it with PUT`)
      const problem = await gateways.changeListener(
        { gateway: name, type, name: listener },
        selectSettings(body),
        caller,
      )
      return problem === undefined ? respondWithListener(name, id) : refuseChange(problem)
    },
    get_gateway_listener: ({ params: { name, id } }) => respondWithListener(name, id),
    change_gateway_listener: async ({ params: { name, id }, body, caller }) => {
      const listener = await find(name, id)
      if (listener instanceof ApiError) return listener
      const place = { gateway: name, type: listener.type, name: listener.name }
      const problem = await gateways.changeListener(place, selectSettings(body), caller)
      return problem === undefined ? respondWithListener(name, id) : refuseChange(problem)
    },
    remove_gateway_listener: async ({ params: { name, id }, caller }) => {
      const listener = await find(name, id)
      if (listener instanceof ApiError) return listener
      const place = { gateway: name, type: listener.type, name: listener.name }
      const problem = await gateways.changeListener(place, undefined, caller)
      if (problem !== undefined) return refuseChange(problem)
      // One of the same name that is added later begins without users.
      const outcome = await users.deleteAll({ gateway: name, listener: place })
      return outcome === 'deleted' ? { code: 0 } : refuseFor('INTERNAL_ERROR', outcome.notStored)
    },
  }
}

/** A new listener has a type and a name, or both as its ID. */
function parseListenerName(
  gateway: string,
  body: Settings,
): { readonly type: string; readonly name: string } | ApiError {
  const [, ofGateway, type, name] = /^([^:]+):([^:]+):(.+)$/.exec(toText(body['id'])) ?? []
  const place = { type: type ?? toText(body['type']), name: name ?? toText(body['name']) }
  const isOther = ofGateway !== undefined && ofGateway !== gateway
  if (isOther || place.type === '' || place.name === '')
    return refuseFor('BAD_REQUEST', `a listener needs type and name, or an id such as ${gateway}:udp:default`)
  return place
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function selectSettings(body: Settings): Settings {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !ownFields.has(key)))
}

function toResponse(gateway: string, listener: GatewayListener): Settings {
  const { type, name, isOpen, clients, settings } = listener
  return {
    ...settings,
    id: formatListenerId(gateway, listener),
    type,
    name,
    running: isOpen,
    current_connections: clients,
  }
}
