// The scenarios that are compared. The names are those of `npm run bench -- --only NAME,NAME`.

import type { LoadOptions } from './load-run.ts'

export interface Scenario {
  readonly title: string
  readonly load?: Partial<LoadOptions>
  readonly idleConnections?: number
}

const pairs = { publishers: 20, subscribers: 20, topics: 20 }

export const scenarios: Readonly<Record<string, Scenario>> = {
  p2p0: { title: '20 to 20, QoS 0', load: { ...pairs, qos: 0 } },
  p2p1: { title: '20 to 20, QoS 1', load: { ...pairs, qos: 1 } },
  p2p2: { title: '20 to 20, QoS 2', load: { ...pairs, qos: 2 } },
  p2p1v5: { title: '20 to 20, QoS 1, MQTT 5', load: { ...pairs, qos: 1, version: 5 } },
  fanout: { title: '1 to 100, QoS 0', load: { publishers: 1, subscribers: 100, topics: 1 } },
  fanin: {
    title: '100 to 1, QoS 0',
    load: { publishers: 100, subscribers: 1, topics: 100, wildcard: true, window: 3_000 },
  },
  wildcard: {
    title: '10 to 20 by wildcard, QoS 1',
    load: { publishers: 10, subscribers: 20, topics: 10, wildcard: true, qos: 1, window: 500 },
  },
  latency: {
    title: '5,000 messages/s, QoS 1',
    load: { ...pairs, qos: 1, ratePerSecond: 5_000, measuresLatency: true, warmSeconds: 5 },
  },
  idle: { title: '10,000 idle connections', idleConnections: 10_000 },
}
