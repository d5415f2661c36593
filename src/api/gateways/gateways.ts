// Gateways, and functions that find a gateway or a listener by its name.

import type { gatewayEndpoints } from './endpoints.ts'
import type { ReplyOf } from '../../contract/index.ts'
import { ApiError, refuseFor, quoteShortened, type Handlers, toShardUnavailableError } from '../../management/index.ts'
import { refuseChange, type SettingProblem } from '../context/setting-writer.ts'
import type { ConfiguredGateways, Gateway, GatewayListener } from './configured-gateways.ts'

export async function readGateways(gateways: ConfiguredGateways): Promise<readonly Gateway[] | ApiError> {
  const found = await gateways.list()
  return 'unavailableShard' in found ? toShardUnavailableError(found) : found
}

export async function findGateway(gateways: ConfiguredGateways, name: string): Promise<Gateway | ApiError> {
  const found = await readGateways(gateways)
  if (found instanceof ApiError) return found
  const gateway = found.find((one) => one.name === name)
  const known = found.map((one) => one.name).join(', ')
  return gateway ?? refuseFor('NOT_FOUND', `there is no gateway ${name}: the gateways are ${known}`)
}

/** By IDs such as `coap:udp:default`. */
export async function findGatewayListener(
  gateways: ConfiguredGateways,
  name: string,
  id: string,
): Promise<GatewayListener | ApiError> {
  const gateway = await findGateway(gateways, name)
  if (gateway instanceof ApiError) return gateway
  const found = gateway.listeners.find((one) => formatListenerId(name, one) === id)
  return found ?? refuseFor('NOT_FOUND', `the gateway ${name} has no listener ${quoteShortened(id)}`)
}

export function formatListenerId(gateway: string, { type, name }: Pick<GatewayListener, 'type' | 'name'>): string {
  return `${gateway}:${type}:${name}`
}

type Known = typeof gatewayEndpoints
type Written = ReplyOf<Known['get_gateways']>[number]

export function createGatewayHandlers(gateways: ConfiguredGateways): Handlers<Known> {
  return {
    get_gateways: async ({ query: { status } }) => {
      const found = await readGateways(gateways)
      if (found instanceof ApiError) return found
      return found.filter((one) => status === undefined || one.status === status).map(toResponse)
    },
    get_gateway: async ({ params: { name } }) => {
      const gateway = await findGateway(gateways, name)
      return gateway instanceof ApiError ? gateway : toResponseWithSettings(gateway)
    },
    change_gateway: async ({ params: { name }, body, caller }) => {
      const gateway = await findGateway(gateways, name)
      if (gateway instanceof ApiError) return gateway
      const settings = parseSettings(name, body)
      if (settings instanceof ApiError) return settings
      return toOutcomeResponse(await gateways.change(name, settings, caller))
    },
    enable_gateway: async ({ params: { name, enable }, caller }) => {
      const gateway = await findGateway(gateways, name)
      if (gateway instanceof ApiError) return gateway
      const problem = await gateways.enable(name, enable === 'true', caller)
      return toOutcomeResponse(problem)
    },
  }
}

type Settings = Readonly<Record<string, unknown>>

/** Fields of a response that are not settings: they may be sent back. */
const shownOfGateway: ReadonlySet<string> = new Set([
  'name',
  'proto_name',
  'status',
  'created_at',
  'started_at',
  'stopped_at',
  'max_connections',
  'current_connections',
  'metrics',
  'configuration',
])
const shownOfListener: ReadonlySet<string> = new Set(['id', 'type', 'name', 'running', 'current_connections'])

/** Listeners are as in the configuration file, by type and name, or a list of objects with both. */
function parseSettings(gateway: string, body: Settings): Settings | ApiError {
  const settings = omitKeys(body, shownOfGateway)
  const list = settings['listeners']
  if (!Array.isArray(list)) return settings
  const byType = new Map<string, [string, Settings][]>()
  for (const listener of list as readonly unknown[]) {
    const { type, name } = (typeof listener === 'object' && listener !== null ? listener : {}) as Settings
    if (typeof type !== 'string' || typeof name !== 'string' || type === '' || name === '') {
      const example = JSON.stringify({ type: 'udp', name: 'default', bind: '127.0.0.1:5683' })
      return refuseFor('BAD_REQUEST', `a listener of ${gateway} needs type and name, such as ${example}`)
    }
    byType.set(type, [...(byType.get(type) ?? []), [name, omitKeys(listener as Settings, shownOfListener)]])
  }
  const listeners = [...byType].map(([type, named]) => [type, Object.fromEntries(named)] as const)
  return { ...settings, listeners: Object.fromEntries(listeners) }
}

function omitKeys(settings: Settings, keys: ReadonlySet<string>): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !keys.has(key)))
}

function toOutcomeResponse(problem: SettingProblem | undefined): { code: 0 } | ApiError {
  return problem === undefined ? { code: 0 } : refuseChange(problem)
}

/** Settings are next to the state, as clients of other brokers expect, and as in the file below `configuration`. */
function toResponseWithSettings(gateway: Gateway): ReplyOf<Known['get_gateway']> {
  const state = toResponse(gateway)
  const listeners = state.listeners.map((listener, index) => ({ ...gateway.listeners[index]?.settings, ...listener }))
  return { ...gateway.settings, ...state, listeners, configuration: gateway.settings }
}

function toResponse({ name, protocolName, status, listeners, counters, ...times }: Gateway): Written {
  const { createdAtMs, startedAtMs, stoppedAtMs } = times
  return {
    name,
    proto_name: protocolName,
    status,
    ...(createdAtMs === undefined ? {} : { created_at: formatTime(createdAtMs) }),
    ...(startedAtMs === undefined ? {} : { started_at: formatTime(startedAtMs) }),
    ...(stoppedAtMs === undefined ? {} : { stopped_at: formatTime(stoppedAtMs) }),
    max_connections: listeners.reduce((sum, { maxClients }) => sum + maxClients, 0),
    current_connections: listeners.reduce((sum, { clients }) => sum + clients, 0),
    listeners: listeners.map((listener) => ({
      id: `${name}:${listener.type}:${listener.name}`,
      type: listener.type,
      name: listener.name,
      bind: listener.bind,
      running: listener.isOpen,
      max_connections: listener.maxClients,
      current_connections: listener.clients,
    })),
    metrics: counters,
  }
}

function formatTime(ms: number): string {
  return new Date(ms).toISOString()
}
