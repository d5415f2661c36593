// Configured gateways, and their state on the shards.

import { describeAsObject, toPlain, findConfigValue } from '../../config/index.ts'
import type { Caller } from '../../contract/index.ts'
import type { ShardUnavailable } from '../../management/index.ts'
import type { GatewayRequest, GatewayResponse } from '../../gateways/index.ts'
import type { GatewayPlan, GatewayReport } from '../../shard/index.ts'
import {
  type ConfigManager,
  type GatewayConfig,
  gatewayTypes,
  findProtocolName,
  deriveStatus,
  type AuthenticationSettings,
  type Gateway as ConfiguredGateway,
  type GatewaySocket,
  listSockets,
  queryShard,
  type QueryableShards,
} from '../../node/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import { type SettingProblem, SettingWriter } from '../context/setting-writer.ts'

/** Additional time for a shard to report that a client has not responded. */
const responseTimeMs = 2_000

type Settings = Readonly<Record<string, unknown>>

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

/** A gateway, or one of its listeners. */
export interface GatewayOrListener {
  readonly gateway: string
  readonly listener?: { readonly type: string; readonly name: string } | undefined
}

/** In changes, undefined settings remove what is named. Its users stay. */
export class ConfiguredGateways {
  readonly #configuration: ConfigManager
  readonly #supervisor: QueryableShards
  readonly #gateways: GatewayConfig
  readonly #writer: SettingWriter

  constructor({ configuration, supervisor, gateways }: Pick<ApiContext, 'configuration' | 'supervisor' | 'gateways'>) {
    this.#configuration = configuration
    this.#supervisor = supervisor
    this.#gateways = gateways
    this.#writer = new SettingWriter(configuration)
  }

  async list(): Promise<readonly Gateway[] | ShardUnavailable> {
    const { config } = this.#configuration
    const { plan } = this.#gateways
    // Without sockets there are no reports.
    const reports = plan.length === 0 ? [] : await queryReports(this.#supervisor)
    if ('unavailableShard' in reports) return reports
    const described = describeAsObject(config)['gateway'] as Settings | undefined
    return gatewayTypes.map((name) => {
      const planned = plan.filter(({ type }) => type === name)
      const ofType = reports.filter(({ type }) => type === name)
      const gateway = config.gateways[name]
      const settings = omitUnset((described?.[name] ?? {}) as Settings, gateway)
      return {
        name,
        authentication: toAuthentication(gateway.authentication, settings),
        protocolName: findProtocolName(name),
        status: deriveStatus(gateway),
        ...this.#gateways.readTimes(name),
        listeners: listSockets(gateway).map((socket) => toListener(socket, { planned, ofType, settings })),
        settings,
        counters: sumCounters(ofType),
      }
    })
  }

  changeAuthentication(
    { gateway, listener }: GatewayOrListener,
    settings: Settings | undefined,
    by: Caller,
  ): Promise<SettingProblem | undefined> {
    const place = listener === undefined ? [] : ['listeners', listener.type, listener.name]
    return this.#writer.put(['gateway', gateway, ...place, 'authentication'], settings, by)
  }

  /** Replaces the configuration. */
  change(name: string, settings: Settings, by: Caller): Promise<SettingProblem | undefined> {
    return this.#writer.put(['gateway', name], settings, by)
  }

  changeListener(
    { gateway, type, name }: { readonly gateway: string; readonly type: string; readonly name: string },
    settings: Settings | undefined,
    by: Caller,
  ): Promise<SettingProblem | undefined> {
    return this.#writer.put(['gateway', gateway, 'listeners', type, name], settings, by)
  }

  enable(name: string, isEnabled: boolean, by: Caller): Promise<SettingProblem | undefined> {
    const stored = findConfigValue(this.#configuration.written.values, ['gateway', name])
    const settings = stored === undefined ? {} : (toPlain(stored) as Settings)
    return this.#writer.put(['gateway', name], { ...settings, enable: isEnabled }, by)
  }

  /** undefined: there is no such client. */
  async request(
    name: string,
    clientId: string,
    request: GatewayRequest,
  ): Promise<GatewayResponse | ShardUnavailable | undefined> {
    const type = gatewayTypes.find((one) => one === name)
    if (type === undefined) return undefined
    const query = { kind: 'gateway-request', type, clientId, request } as const
    const timeoutMs = request.kind === 'coap-request' ? request.timeoutMs + responseTimeMs : undefined
    const shards = Array.from({ length: this.#supervisor.size }, (_, shard) => shard)
    const results = await Promise.all(shards.map((shard) => queryShard(this.#supervisor, shard, query, timeoutMs)))
    const found = results.find((result) => 'response' in result && result.response !== undefined)
    if (found !== undefined && 'response' in found) return found.response
    return results.find((result) => 'unavailableShard' in result)
  }
}

function toListener(
  { kind, name, listener }: GatewaySocket,
  {
    planned,
    ofType,
    settings,
  }: { readonly planned: GatewayPlan; readonly ofType: readonly GatewayReport[]; readonly settings: Settings },
): GatewayListener {
  const open = planned.find((one) => one.listener.kind === kind && one.listener.name === name)
  const reported = ofType.filter((one) => one.kind === kind && one.name === name)
  const own = selectSettings(settings, ['listeners', kind, name])
  return {
    type: kind,
    name,
    bind: open === undefined ? bindText(listener.bind) : formatAddress(open.listener),
    isOpen: reported.length > 0 && reported.every(({ isOpen }) => isOpen),
    maxClients: listener.max_connections,
    clients: reported.reduce((sum, { clients }) => sum + clients, 0),
    settings: own,
    authentication: toAuthentication(listener.authentication, own),
  }
}

/** An authentication that is not there is not shown: what is shown can be sent back as it is. */
function omitUnset(settings: Settings, gateway: ConfiguredGateway): Settings {
  const { authentication, listeners, ...rest } = settings
  const shown = Object.entries(isFields(listeners) ? listeners : {}).map(([kind, named]) => [
    kind,
    Object.fromEntries(
      Object.entries(isFields(named) ? named : {}).map(([name, listener]) => {
        const configured = listSockets(gateway).find((one) => one.kind === kind && one.name === name)
        if (!isFields(listener) || configured?.listener.authentication.mechanism !== undefined) return [name, listener]
        const { authentication: _, ...others } = listener
        return [name, others]
      }),
    ),
  ])
  return {
    ...rest,
    ...(gateway.authentication.mechanism === undefined ? {} : { authentication }),
    ...(listeners === undefined ? {} : { listeners: Object.fromEntries(shown) as unknown }),
  }
}

function toAuthentication(configured: AuthenticationSettings, settings: Settings): GatewayAuthentication | undefined {
  const { mechanism, backend } = configured
  if (mechanism === undefined) return undefined
  const hasUsers = mechanism === 'password_based' && backend === 'built_in_database'
  return { settings: selectSettings(settings, ['authentication']), hasUsers }
}

function selectSettings(
  settings: Readonly<Record<string, unknown>>,
  path: readonly string[],
): Readonly<Record<string, unknown>> {
  let found: unknown = settings
  for (const key of path) found = isFields(found) ? found[key] : undefined
  return isFields(found) ? found : {}
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function formatAddress({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function bindText({ host, port }: { readonly host: string | undefined; readonly port: number }): string {
  return host === undefined ? String(port) : formatAddress({ host, port })
}

async function queryReports(supervisor: QueryableShards): Promise<readonly GatewayReport[] | ShardUnavailable> {
  const shards = Array.from({ length: supervisor.size }, (_, shard) => shard)
  const results = await Promise.all(shards.map((shard) => queryShard(supervisor, shard, { kind: 'gateways' })))
  const reports: GatewayReport[] = []
  for (const result of results) {
    if ('unavailableShard' in result) return result
    reports.push(...result)
  }
  return reports
}

function sumCounters(reports: readonly GatewayReport[]): Record<string, number> {
  const sums: Record<string, number> = {}
  const add = (name: string, value: number): void => {
    sums[name] = (sums[name] ?? 0) + value
  }
  for (const { counters } of reports) {
    add('received', counters.received)
    add('sent', counters.sent)
    add('retransmitted', counters.retransmitted)
    for (const [reason, count] of Object.entries(counters.dropped)) add(`dropped.${reason}`, count)
  }
  return sums
}
