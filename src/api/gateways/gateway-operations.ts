// Configured gateways, and their state on the shards.

import { describeAsObject, toPlain, valueAt } from '../../config/index.ts'
import type { Gateway, GatewayAuthentication, GatewayListener, GatewayOperations } from './gateways.ts'
import type { ShardUnavailable } from '../../management/index.ts'
import type { GatewayPlan, GatewayReport } from '../../shard/index.ts'
import {
  type ConfigManager,
  type GatewayConfig,
  gatewayTypes,
  protocolNameOf,
  statusOf,
  type AuthenticationSettings,
  type Gateway as ConfiguredGateway,
  type GatewaySocket,
  socketsOf,
  type AccessRecords,
  queryShard,
  type QueryableShards,
} from '../../node/index.ts'
import { SettingWriter } from '../context/setting-writer.ts'
import { gatewayUserOperations } from './gateway-users.ts'

/** Additional time for a shard to report that a client has not responded. */
const responseTimeMs = 2_000

export interface GatewayFacts {
  readonly configuration: ConfigManager
  readonly supervisor: QueryableShards
  readonly gateways: GatewayConfig
  readonly accessRecords: AccessRecords
}

export function gatewayOperations({
  configuration,
  supervisor,
  gateways,
  accessRecords,
}: GatewayFacts): GatewayOperations {
  const writer = new SettingWriter(configuration)
  return {
    gateways: async () => {
      // Without sockets there are no reports.
      const reports = gateways.plan.length === 0 ? [] : await reportsOf(supervisor)
      if ('unavailableShard' in reports) return reports
      const described = describeAsObject(configuration.config)['gateway'] as
        | Readonly<Record<string, unknown>>
        | undefined
      return gatewayTypes.map((name) => {
        const planned = gateways.plan.filter(({ type }) => type === name)
        const ofType = reports.filter(({ type }) => type === name)
        const gateway = configuration.config.gateways[name]
        const settings = withoutUnset((described?.[name] ?? {}) as Settings, gateway)
        return {
          name,
          authentication: shownAuthentication(gateway.authentication, settings),
          protocolName: protocolNameOf(name),
          status: statusOf(gateway),
          ...gateways.timesOf(name),
          listeners: socketsOf(gateway).map((socket) => listenerOf(socket, { planned, ofType, settings })),
          settings,
          counters: sumOf(ofType),
        } satisfies Gateway
      })
    },
    users: gatewayUserOperations({ accessRecords, configuration }),
    changeAuthentication: ({ gateway, listener }, settings, by) => {
      const place = listener === undefined ? [] : ['listeners', listener.type, listener.name]
      return writer.put(['gateway', gateway, ...place, 'authentication'], settings, by)
    },
    change: (name, settings, by) => writer.put(['gateway', name], settings, by),
    changeListener: ({ gateway, type, name }, settings, by) =>
      writer.put(['gateway', gateway, 'listeners', type, name], settings, by),
    request: async (name, clientId, request) => {
      const type = gatewayTypes.find((one) => one === name)
      if (type === undefined) return undefined
      const query = { kind: 'gateway-request', type, clientId, request } as const
      const timeoutMs = request.kind === 'coap-request' ? request.timeoutMs + responseTimeMs : undefined
      const shards = Array.from({ length: supervisor.size }, (_, shard) => shard)
      const results = await Promise.all(shards.map((shard) => queryShard(supervisor, shard, query, timeoutMs)))
      const found = results.find((result) => 'response' in result && result.response !== undefined)
      if (found !== undefined && 'response' in found) return found.response
      return results.find((result) => 'unavailableShard' in result)
    },
    enable: (name, isEnabled, by) => {
      const stored = valueAt(configuration.written.values, ['gateway', name])
      const settings = stored === undefined ? {} : (toPlain(stored) as Readonly<Record<string, unknown>>)
      return writer.put(['gateway', name], { ...settings, enable: isEnabled }, by)
    },
  }
}

function listenerOf(
  { kind, name, listener }: GatewaySocket,
  {
    planned,
    ofType,
    settings,
  }: { readonly planned: GatewayPlan; readonly ofType: readonly GatewayReport[]; readonly settings: Settings },
): GatewayListener {
  const open = planned.find((one) => one.listener.kind === kind && one.listener.name === name)
  const reported = ofType.filter((one) => one.kind === kind && one.name === name)
  const own = settingsAt(settings, ['listeners', kind, name])
  return {
    type: kind,
    name,
    bind: open === undefined ? bindText(listener.bind) : addressText(open.listener),
    isOpen: reported.length > 0 && reported.every(({ isOpen }) => isOpen),
    maxClients: listener.max_connections,
    clients: reported.reduce((sum, { clients }) => sum + clients, 0),
    settings: own,
    authentication: shownAuthentication(listener.authentication, own),
  }
}

type Settings = Readonly<Record<string, unknown>>

/** An authentication that is not there is not shown: what is shown can be sent back as it is. */
function withoutUnset(settings: Settings, gateway: ConfiguredGateway): Settings {
  const { authentication, listeners, ...rest } = settings
  const shown = Object.entries(isFields(listeners) ? listeners : {}).map(([kind, named]) => [
    kind,
    Object.fromEntries(
      Object.entries(isFields(named) ? named : {}).map(([name, listener]) => {
        const configured = socketsOf(gateway).find((one) => one.kind === kind && one.name === name)
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

function shownAuthentication(
  configured: AuthenticationSettings,
  settings: Settings,
): GatewayAuthentication | undefined {
  const { mechanism, backend } = configured
  if (mechanism === undefined) return undefined
  const hasUsers = mechanism === 'password_based' && backend === 'built_in_database'
  return { settings: settingsAt(settings, ['authentication']), hasUsers }
}

function settingsAt(
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

function addressText({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function bindText({ host, port }: { readonly host: string | undefined; readonly port: number }): string {
  return host === undefined ? String(port) : addressText({ host, port })
}

async function reportsOf(supervisor: QueryableShards): Promise<readonly GatewayReport[] | ShardUnavailable> {
  const shards = Array.from({ length: supervisor.size }, (_, shard) => shard)
  const results = await Promise.all(shards.map((shard) => queryShard(supervisor, shard, { kind: 'gateways' })))
  const reports: GatewayReport[] = []
  for (const result of results) {
    if ('unavailableShard' in result) return result
    reports.push(...result)
  }
  return reports
}

function sumOf(reports: readonly GatewayReport[]): Record<string, number> {
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
