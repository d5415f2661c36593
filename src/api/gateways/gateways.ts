// Gateways: operations of the node, handlers, and functions that find a gateway or a listener by its name.

import type { gatewayEndpoints } from './endpoints.ts'
import type { ReplyOf, Caller } from '../../contract/index.ts'
import {
  ApiError,
  refuseFor,
  shortened,
  type Handlers,
  shardUnavailableError,
  type PageFound,
  type PageWanted,
  type ShardUnavailable,
} from '../../management/index.ts'
import { refuseChange } from '../context/setting-writer.ts'
import type { SettingProblem } from '../context/setting-writer.ts'
import type { NotStored } from '../credentials/credential-lists.ts'

/** The authentication that is configured for a gateway or a listener. */
export interface GatewayAuthentication {
  /** Settings as plain values; secrets are masked. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Whether its users are stored here. */
  readonly hasUsers: boolean
}

export interface GatewayListener {
  /** `udp` or `tcp`. */
  readonly type: string
  readonly name: string
  readonly bind: string
  readonly isOpen: boolean
  readonly maxClients: number
  readonly clients: number
  /** Settings as plain values; secrets are masked. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Undefined: it has none. */
  readonly authentication: GatewayAuthentication | undefined
}

/** A gateway is unloaded if it has no listener, and stopped if it is disabled. */
export interface Gateway {
  readonly name: string
  readonly protocolName: string
  readonly status: 'running' | 'stopped' | 'unloaded'
  /** Times since the broker started; undefined: not in this run. */
  readonly createdAtMs: number | undefined
  readonly startedAtMs: number | undefined
  readonly stoppedAtMs: number | undefined
  readonly listeners: readonly GatewayListener[]
  /** Settings as plain values; secrets are masked. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Undefined: it has none. */
  readonly authentication: GatewayAuthentication | undefined
  /** Datagrams since the start, by outcome. */
  readonly counters: Readonly<Record<string, number>>
}

/** A request to one client of a gateway. */
export type GatewayRequest =
  | {
      readonly kind: 'coap-request'
      readonly method: 'get' | 'post' | 'put' | 'delete'
      readonly token: string
      /** Content format of the payload; undefined: there is none. */
      readonly format: number | undefined
      readonly payload: Uint8Array
      readonly timeoutMs: number
    }
  /** The last response to a command. */
  | { readonly kind: 'lwm2m-lookup'; readonly path: string; readonly action: string }
  /** `command`: as over MQTT. */
  | { readonly kind: 'lwm2m-command'; readonly command: Readonly<Record<string, unknown>> }

/** The outcome. */
export type GatewayResponse =
  | {
      readonly kind: 'coap-response'
      readonly messageId: number
      /** `2.05` */
      readonly code: string
      readonly payload: Uint8Array
    }
  /** `data` of the response; undefined: there is none. */
  | { readonly kind: 'lwm2m-response'; readonly response: Readonly<Record<string, unknown>> | undefined }
  | { readonly kind: 'accepted' }
  /** The client did not respond in time, or rejected the message. */
  | { readonly kind: 'no-response' }
  /** A sentence. */
  | { readonly kind: 'refused'; readonly problem: string }

/** A gateway, or one of its listeners. */
export interface GatewayOrListener {
  readonly gateway: string
  readonly listener?: { readonly type: string; readonly name: string } | undefined
}

export interface GatewayUser {
  readonly id: string
  readonly isSuperuser: boolean
}

export interface GatewayUserQuery {
  /** Names that hold this text. */
  readonly like: string | undefined
  readonly isSuperuser: boolean | undefined
  readonly page: PageWanted
}

/** Changes of a user. Undefined values stay unchanged. */
export interface GatewayUserChange {
  readonly password?: string | undefined
  readonly isSuperuser?: boolean | undefined
}

/** Operations on the users of gateways. When they resolve, the change is on disk and applies to all clients that connect from then on. */
export interface GatewayUserOperations {
  /** The newest first. */
  list(of: GatewayOrListener, query: GatewayUserQuery): Promise<PageFound<GatewayUser>>
  find(of: GatewayOrListener, id: string): GatewayUser | undefined
  create(
    of: GatewayOrListener,
    user: GatewayUser & { readonly password: string },
  ): Promise<'created' | 'existed' | NotStored>
  update(of: GatewayOrListener, id: string, change: GatewayUserChange): Promise<GatewayUser | 'missing' | NotStored>
  delete(of: GatewayOrListener, id: string): Promise<'deleted' | 'missing' | NotStored>
  /** Deletes all users of a gateway or a listener. Users of the listeners of a gateway stay. */
  deleteAll(of: GatewayOrListener): Promise<'deleted' | NotStored>
}

export interface GatewayOperations {
  readonly users: GatewayUserOperations
  /** Replaces it. `settings` undefined: it is taken away; its users stay. */
  changeAuthentication(
    of: GatewayOrListener,
    settings: Readonly<Record<string, unknown>> | undefined,
    by: Caller,
  ): Promise<SettingProblem | undefined>
  gateways(): Promise<readonly Gateway[] | ShardUnavailable>
  /** Replaces the configuration. Undefined: success. */
  change(name: string, settings: Readonly<Record<string, unknown>>, by: Caller): Promise<SettingProblem | undefined>
  enable(name: string, isEnabled: boolean, by: Caller): Promise<SettingProblem | undefined>
  /** Replaces one listener. `settings` undefined: removes it. */
  changeListener(
    listener: { readonly gateway: string; readonly type: string; readonly name: string },
    settings: Readonly<Record<string, unknown>> | undefined,
    by: Caller,
  ): Promise<SettingProblem | undefined>
  /** Undefined: there is no such client. */
  request(
    name: string,
    clientId: string,
    request: GatewayRequest,
  ): Promise<GatewayResponse | ShardUnavailable | undefined>
}

export async function allGateways(gateways: GatewayOperations): Promise<readonly Gateway[] | ApiError> {
  const found = await gateways.gateways()
  return 'unavailableShard' in found ? shardUnavailableError(found) : found
}

export async function findGateway(gateways: GatewayOperations, name: string): Promise<Gateway | ApiError> {
  const found = await allGateways(gateways)
  if (found instanceof ApiError) return found
  const gateway = found.find((one) => one.name === name)
  const known = found.map((one) => one.name).join(', ')
  return gateway ?? refuseFor('NOT_FOUND', `there is no gateway ${name}: the gateways are ${known}`)
}

/** By IDs such as `coap:udp:default`. */
export async function findGatewayListener(
  gateways: GatewayOperations,
  name: string,
  id: string,
): Promise<GatewayListener | ApiError> {
  const gateway = await findGateway(gateways, name)
  if (gateway instanceof ApiError) return gateway
  const found = gateway.listeners.find((one) => idOfListener(name, one) === id)
  return found ?? refuseFor('NOT_FOUND', `the gateway ${name} has no listener ${shortened(id)}`)
}

export function idOfListener(gateway: string, { type, name }: Pick<GatewayListener, 'type' | 'name'>): string {
  return `${gateway}:${type}:${name}`
}

type Known = typeof gatewayEndpoints
type Written = ReplyOf<Known['get_gateways']>[number]

export function gatewayHandlers(gateways: GatewayOperations): Handlers<Known> {
  return {
    get_gateways: async ({ query: { status } }) => {
      const found = await allGateways(gateways)
      if (found instanceof ApiError) return found
      return found.filter((one) => status === undefined || one.status === status).map(written)
    },
    get_gateway: async ({ params: { name } }) => {
      const gateway = await findGateway(gateways, name)
      return gateway instanceof ApiError ? gateway : writtenWithSettings(gateway)
    },
    change_gateway: async ({ params: { name }, body, caller }) => {
      const gateway = await findGateway(gateways, name)
      if (gateway instanceof ApiError) return gateway
      const settings = settingsIn(name, body)
      if (settings instanceof ApiError) return settings
      return doneOr(await gateways.change(name, settings, caller))
    },
    enable_gateway: async ({ params: { name, enable }, caller }) => {
      const gateway = await findGateway(gateways, name)
      if (gateway instanceof ApiError) return gateway
      const problem = await gateways.enable(name, enable === 'true', caller)
      return doneOr(problem)
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
function settingsIn(gateway: string, body: Settings): Settings | ApiError {
  const settings = without(body, shownOfGateway)
  const list = settings['listeners']
  if (!Array.isArray(list)) return settings
  const byType = new Map<string, [string, Settings][]>()
  for (const listener of list as readonly unknown[]) {
    const { type, name } = (typeof listener === 'object' && listener !== null ? listener : {}) as Settings
    if (typeof type !== 'string' || typeof name !== 'string' || type === '' || name === '') {
      const example = JSON.stringify({ type: 'udp', name: 'default', bind: '127.0.0.1:5683' })
      return refuseFor('BAD_REQUEST', `a listener of ${gateway} needs type and name, such as ${example}`)
    }
    byType.set(type, [...(byType.get(type) ?? []), [name, without(listener as Settings, shownOfListener)]])
  }
  const listeners = [...byType].map(([type, named]) => [type, Object.fromEntries(named)] as const)
  return { ...settings, listeners: Object.fromEntries(listeners) }
}

function without(settings: Settings, keys: ReadonlySet<string>): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !keys.has(key)))
}

function doneOr(problem: Awaited<ReturnType<GatewayOperations['change']>>): { code: 0 } | ApiError {
  return problem === undefined ? { code: 0 } : refuseChange(problem)
}

/** Settings are next to the state, as clients of other brokers expect, and as in the file below `configuration`. */
function writtenWithSettings(gateway: Gateway): ReplyOf<Known['get_gateway']> {
  const state = written(gateway)
  const listeners = state.listeners.map((listener, index) => ({ ...gateway.listeners[index]?.settings, ...listener }))
  return { ...gateway.settings, ...state, listeners, configuration: gateway.settings }
}

function written({ name, protocolName, status, listeners, counters, ...times }: Gateway): Written {
  const { createdAtMs, startedAtMs, stoppedAtMs } = times
  return {
    name,
    proto_name: protocolName,
    status,
    ...(createdAtMs === undefined ? {} : { created_at: timeOf(createdAtMs) }),
    ...(startedAtMs === undefined ? {} : { started_at: timeOf(startedAtMs) }),
    ...(stoppedAtMs === undefined ? {} : { stopped_at: timeOf(stoppedAtMs) }),
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

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
