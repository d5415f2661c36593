// Everything by which an operator sees how this node does, put together.

import type { Operations } from '../management/index.ts'
import type { Alarms } from './alarms.ts'
import { DescriptorWatch } from './descriptor-watch.ts'
import { Gauges } from './gauges.ts'
import type { LiveBridges } from './live-bridges.ts'
import type { LiveListeners } from './live-listeners.ts'
import { alarmOperations } from './operations/alarms.ts'
import { metricOperations } from './operations/metrics.ts'
import { slowSubscriptionOperations } from './operations/slow-subscriptions.ts'
import { OverloadWatch } from './overload-watch.ts'
import type { Log } from '../telemetry/index.ts'
import { ResourceWatch, type ShownCertificate } from './resource-watch.ts'
import type { ShardCrew } from './shard-crew.ts'
import { watchMemory } from './memory-observation.ts'
import type { MemoryPlan } from './shard-plan.ts'
import { Traces } from './traces.ts'

export interface ObservationGround {
  readonly nodeName: string
  readonly counters: SharedArrayBuffer
  readonly meters: SharedArrayBuffer
  readonly memory: MemoryPlan
  /** How many descriptors connections may still take: see `DescriptorWatch`. */
  readonly descriptorRoom: SharedArrayBuffer
  readonly alarms: Alarms
  readonly log: Log
  readonly crew: ShardCrew
  /** Absolute. */
  readonly dataDirectory: string
  /** The listeners as they are now. */
  readonly live: Pick<LiveListeners, 'addresses' | 'states'>
  readonly bridges: Pick<LiveBridges, 'latest' | 'certificates'>
}

export interface Observation {
  readonly operations: Pick<Operations, 'metrics' | 'alarms' | 'slowSubscriptions' | 'traces'>
  /** Resolves when it can be asked. */
  start(): Promise<void>
  stop(): Promise<void>
  /** Certificates may be others now. */
  lookAtFiles(): void
}

export function observeNode(ground: ObservationGround): Observation {
  const { nodeName, counters, meters, alarms, crew } = ground
  const traces = new Traces({
    ...ground,
    tell: (targets) => crew.change((change) => ({ kind: 'traces', change, targets }), { traces: targets }),
  })
  crew.onTrace = (trace, line) => traces.note(trace, line)
  const gauges = new Gauges(counters)
  const resources = new ResourceWatch({ ...ground, shownCertificates: () => certificatesOf(ground) })
  const descriptors = new DescriptorWatch(ground)
  const overload = new OverloadWatch(meters, alarms)
  const memory = watchMemory(ground)
  return {
    operations: {
      metrics: metricOperations({ ...ground, gauges, resources, descriptors, memory }),
      alarms: alarmOperations(nodeName, alarms),
      traces,
      slowSubscriptions: slowSubscriptionOperations(nodeName, crew),
    },
    start: async () => {
      await traces.open()
      gauges.start(() => overload.look())
      resources.start()
      descriptors.start()
      memory.start()
    },
    stop: async () => {
      gauges.stop()
      resources.stop()
      descriptors.stop()
      memory.stop()
      await traces.close()
    },
    lookAtFiles: () => void resources.lookAtCertificates(),
  }
}

function certificatesOf({ live, bridges }: ObservationGround): ShownCertificate[] {
  const ofListeners = live.addresses.flatMap((listener) => {
    if (!('tls' in listener)) return []
    const { certificate, byServerName } = listener.tls
    const files = [...(certificate === undefined ? [] : [certificate]), ...byServerName]
    return files.map(({ certFile: file }) => ({ of: `listener ${listener.kind} ${listener.name}`, file }))
  })
  return [...ofListeners, ...bridges.certificates]
}
