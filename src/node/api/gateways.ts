// Gateways as the configuration has them, and what the shards say of them.

import { describeAsObject, toPlain, valueAt } from '../../config/index.ts'
import type { Gateway, GatewayOperations, ShardUnavailable } from '../../management/index.ts'
import type { GatewayReport } from '../../shard/index.ts'
import type { LiveConfig } from '../configuration/live-config.ts'
import { type GatewayConfig, gatewayTypes, protocolNameOf, socketsOf } from '../gateways/gateway-config.ts'
import { queryShard, type ShardQueries } from './query-shard.ts'
import { SettingWriter } from './setting-writer.ts'

export interface GatewayFacts {
  readonly configuration: LiveConfig
  readonly supervisor: ShardQueries
  readonly gateways: GatewayConfig
}

export function gatewayOperations({ configuration, supervisor, gateways }: GatewayFacts): GatewayOperations {
  const writer = new SettingWriter(configuration)
  return {
    gateways: async () => {
      const reports = await reportsOf(supervisor)
      if ('silentShard' in reports) return reports
      const described = describeAsObject(configuration.config)['gateway'] as
        | Readonly<Record<string, unknown>>
        | undefined
      return gatewayTypes.map((name) => {
        const own = gateways.plan.filter(({ type }) => type === name)
        const ofType = reports.filter(({ type }) => type === name)
        const gateway = configuration.config.gateways[name]
        const hasListeners = socketsOf(gateway).length > 0
        return {
          name,
          protocolName: protocolNameOf(name),
          status: hasListeners ? (gateway.enable ? 'running' : 'stopped') : 'unloaded',
          listeners: own.map(({ listener, maxClients }) => {
            const report = ofType.find((one) => one.name === listener.name)
            const isSix = listener.host.includes(':')
            return {
              type: listener.kind,
              name: listener.name,
              bind: `${isSix ? `[${listener.host}]` : listener.host}:${listener.port}`,
              isOpen: report?.isOpen === true,
              maxClients,
              clients: report?.clients ?? 0,
            }
          }),
          settings: (described?.[name] ?? {}) as Readonly<Record<string, unknown>>,
          counters: sumOf(ofType),
        } satisfies Gateway
      })
    },
    change: (name, settings, by) => writer.put(['gateway', name], settings, by),
    enable: (name, isEnabled, by) => {
      const stored = valueAt(configuration.written.values, ['gateway', name])
      const settings = stored === undefined ? {} : (toPlain(stored) as Readonly<Record<string, unknown>>)
      return writer.put(['gateway', name], { ...settings, enable: isEnabled }, by)
    },
  }
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
