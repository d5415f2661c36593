// Metrics of gateways for Prometheus. A gateway without a listener has none.

import type { ConfiguredGateways, Gateway } from '../gateways/configured-gateways.ts'
import type { Sample } from './prometheus-text.ts'

export type GatewayMetrics = Readonly<
  Record<
    | 'svc_gateway_clients'
    | 'svc_gateway_received_total'
    | 'svc_gateway_sent_total'
    | 'svc_gateway_retransmitted_total'
    | 'svc_gateway_dropped_total',
    readonly Sample[]
  >
>

const dropMark = 'dropped.'

/** If a shard does not respond, there are none this time. */
export function toGatewayMetrics(found: Awaited<ReturnType<ConfiguredGateways['list']>>): GatewayMetrics {
  const gateways = 'unavailableShard' in found ? [] : found.filter(({ status }) => status !== 'unloaded')
  const toSamples = (valueOf: (gateway: Gateway) => number): readonly Sample[] =>
    gateways.map((gateway) => ({ labels: { gateway: gateway.name }, value: valueOf(gateway) }))
  return {
    svc_gateway_clients: toSamples(({ listeners }) => listeners.reduce((sum, { clients }) => sum + clients, 0)),
    svc_gateway_received_total: toSamples(({ counters }) => counters['received'] ?? 0),
    svc_gateway_sent_total: toSamples(({ counters }) => counters['sent'] ?? 0),
    svc_gateway_retransmitted_total: toSamples(({ counters }) => counters['retransmitted'] ?? 0),
    svc_gateway_dropped_total: gateways.flatMap(({ name: gateway, counters }) =>
      Object.entries(counters)
        .filter(([counter]) => counter.startsWith(dropMark))
        .map(([counter, value]) => ({ labels: { gateway, reason: counter.slice(dropMark.length) }, value })),
    ),
  }
}
