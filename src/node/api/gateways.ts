// Configured gateways, and their state on the shards.

import { describeAsObject, toPlain, valueAt } from '../../config/index.ts'
import type { Gateway, GatewayOperations, ShardUnavailable } from '../../management/index.ts'
import type { GatewayReport } from '../../shard/index.ts'
import type { LiveConfig } from '../configuration/live-config.ts'
import { type GatewayConfig, gatewayTypes, protocolNameOf, statusOf } from '../gateways/gateway-config.ts'
import { socketsOf } from '../gateways/gateway-sockets.ts'
import { queryShard, type ShardQueries } from './query-shard.ts'
import { SettingWriter } from './setting-writer.ts'

/** Additional time for a shard to report that a client has not answered. */
const answerTimeMs = 2_000

export interface GatewayFacts {
  readonly configuration: LiveConfig
  readonly supervisor: ShardQueries
  readonly gateways: GatewayConfig
}

export function gatewayOperations({ configuration, supervisor, gateways }: GatewayFacts): GatewayOperations {
  const writer = new SettingWriter(configuration)
  return {
    gateways: async () => {
      // Without sockets there are no reports.
      const reports = gateways.plan.length === 0 ? [] : await reportsOf(supervisor)
      if ('silentShard' in reports) return reports
      const described = describeAsObject(configuration.config)['gateway'] as
        | Readonly<Record<string, unknown>>
        | undefined
      return gatewayTypes.map((name) => {
        const own = gateways.plan.filter(({ type }) => type === name)
        const ofType = reports.filter(({ type }) => type === name)
        const gateway = configuration.config.gateways[name]
        const settings = (described?.[name] ?? {}) as Readonly<Record<string, unknown>>
        return {
          name,
          protocolName: protocolNameOf(name),
          status: statusOf(gateway),
          ...gateways.timesOf(name),
          listeners: socketsOf(gateway).map(({ kind, name: id, listener }) => {
            const open = own.find((one) => one.listener.kind === kind && one.listener.name === id)
            const reported = ofType.filter((one) => one.name === id)
            return {
              type: kind,
              name: id,
              bind: open === undefined ? bindText(listener.bind) : addressText(open.listener),
              isOpen: reported.length > 0 && reported.every(({ isOpen }) => isOpen),
              maxClients: listener.max_connections,
              clients: reported.reduce((sum, { clients }) => sum + clients, 0),
              settings: settingsAt(settings, ['listeners', kind, id]),
            }
          }),
          settings,
          counters: sumOf(ofType),
        } satisfies Gateway
      })
    },
    change: (name, settings, by) => writer.put(['gateway', name], settings, by),
    changeListener: ({ gateway, type, name }, settings, by) =>
      writer.put(['gateway', gateway, 'listeners', type, name], settings, by),
    request: async (name, clientId, request) => {
      const type = gatewayTypes.find((one) => one === name)
      if (type === undefined) return undefined
      const question = { question: 'gateway-request', type, clientId, request } as const
      const timeoutMs = request.kind === 'coap-request' ? request.timeoutMs + answerTimeMs : undefined
      const shards = Array.from({ length: supervisor.size }, (_, shard) => shard)
      const answers = await Promise.all(shards.map((shard) => queryShard(supervisor, shard, question, timeoutMs)))
      const found = answers.find((answer) => 'response' in answer && answer.response !== undefined)
      if (found !== undefined && 'response' in found) return found.response
      return answers.find((answer) => 'silentShard' in answer)
    },
    enable: (name, isEnabled, by) => {
      const stored = valueAt(configuration.written.values, ['gateway', name])
      const settings = stored === undefined ? {} : (toPlain(stored) as Readonly<Record<string, unknown>>)
      return writer.put(['gateway', name], { ...settings, enable: isEnabled }, by)
    },
  }
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

async function reportsOf(supervisor: ShardQueries): Promise<readonly GatewayReport[] | ShardUnavailable> {
  const shards = Array.from({ length: supervisor.size }, (_, shard) => shard)
  const answers = await Promise.all(shards.map((shard) => queryShard(supervisor, shard, { question: 'gateways' })))
  const reports: GatewayReport[] = []
  for (const answer of answers) {
    if ('silentShard' in answer) return answer
    reports.push(...answer)
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
