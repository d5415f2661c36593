// Everything by which an operator sees how this node does, put together.

import type { Operations } from '../management/index.ts'
import type { Alarms } from './alarms.ts'
import { Gauges } from './gauges.ts'
import { alarmOperations } from './operations/alarms.ts'
import { metricOperations } from './operations/metrics.ts'
import { OverloadWatch } from './overload-watch.ts'
import type { ShardCrew } from './shard-crew.ts'

export interface ObservationGround {
  readonly nodeName: string
  readonly counters: SharedArrayBuffer
  readonly meters: SharedArrayBuffer
  readonly alarms: Alarms
  readonly crew: ShardCrew
}

export interface Observation {
  readonly operations: Pick<Operations, 'metrics' | 'alarms'>
  start(): void
  stop(): void
}

export function observeNode(ground: ObservationGround): Observation {
  const { nodeName, counters, meters, alarms } = ground
  const gauges = new Gauges(counters)
  const overload = new OverloadWatch(meters, alarms)
  return {
    operations: {
      metrics: metricOperations({ ...ground, gauges }),
      alarms: alarmOperations(nodeName, alarms),
    },
    start: () => gauges.start(() => overload.look()),
    stop: () => gauges.stop(),
  }
}
