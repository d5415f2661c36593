// Everything by which an operator sees how this node does, put together.

import type { Operations } from '../management/index.ts'
import type { Alarms } from './alarms.ts'
import { Gauges } from './gauges.ts'
import type { LiveListeners } from './live-listeners.ts'
import { alarmOperations } from './operations/alarms.ts'
import { metricOperations } from './operations/metrics.ts'
import { slowSubscriptionOperations } from './operations/slow-subscriptions.ts'
import { OverloadWatch } from './overload-watch.ts'
import { ResourceWatch } from './resource-watch.ts'
import type { ShardCrew } from './shard-crew.ts'

export interface ObservationGround {
  readonly nodeName: string
  readonly counters: SharedArrayBuffer
  readonly meters: SharedArrayBuffer
  readonly alarms: Alarms
  readonly crew: ShardCrew
  /** Absolute. */
  readonly dataDirectory: string
  /** The listeners as they are now. */
  readonly live: Pick<LiveListeners, 'addresses' | 'states'>
}

export interface Observation {
  readonly operations: Pick<Operations, 'metrics' | 'alarms' | 'slowSubscriptions'>
  start(): void
  stop(): void
  /** Certificates may be others now. */
  lookAtFiles(): void
}

export function observeNode(ground: ObservationGround): Observation {
  const { nodeName, counters, meters, alarms } = ground
  const gauges = new Gauges(counters)
  const resources = new ResourceWatch({ ...ground, listeners: () => ground.live.addresses })
  const overload = new OverloadWatch(meters, alarms)
  return {
    operations: {
      metrics: metricOperations({ ...ground, gauges }),
      alarms: alarmOperations(nodeName, alarms),
      slowSubscriptions: slowSubscriptionOperations(nodeName, ground.crew),
    },
    start: () => {
      gauges.start(() => overload.look())
      resources.start()
    },
    stop: () => {
      gauges.stop()
      resources.stop()
    },
    lookAtFiles: () => void resources.lookAtCertificates(),
  }
}
