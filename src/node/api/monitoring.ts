// Combines the monitors of this node.

import type { Operations } from '../../management/index.ts'
import type { Alarms } from '../observe/alarms.ts'
import { DescriptorMonitor } from '../observe/descriptor-monitor.ts'
import { Gauges } from '../observe/gauges.ts'
import type { BridgeConfig } from '../bridges/bridge-config.ts'
import type { ListenerManager } from '../listeners/listener-manager.ts'
import { alarmOperations } from './alarms.ts'
import { metricOperations } from './metrics.ts'
import { slowSubscriptionOperations } from './slow-subscriptions.ts'
import { MonitorHistory } from '../observe/monitor-history.ts'
import { OverloadMonitor } from '../observe/overload-monitor.ts'
import type { Log } from '../../telemetry/index.ts'
import { ResourceMonitor, type ShownCertificate } from '../observe/resource-monitor.ts'
import type { ShardSupervisor } from '../shards/shard-supervisor.ts'
import { monitorMemory } from '../shards/memory-monitoring.ts'
import type { MemoryPlan } from '../shards/shard-plan.ts'
import { Traces } from '../observe/traces.ts'

export interface MonitoringDependencies {
  readonly nodeName: string
  readonly counters: SharedArrayBuffer
  readonly histograms: SharedArrayBuffer
  readonly memory: MemoryPlan
  /** File descriptors for connections: see `DescriptorMonitor`. */
  readonly freeDescriptors: SharedArrayBuffer
  readonly alarms: Alarms
  readonly log: Log
  readonly supervisor: ShardSupervisor
  /** Absolute. */
  readonly dataDirectory: string
  /** The current listeners. */
  readonly live: Pick<ListenerManager, 'addresses' | 'states'>
  readonly bridges: Pick<BridgeConfig, 'latest' | 'certificates'>
}

export interface Monitoring {
  readonly operations: Pick<Operations, 'metrics' | 'alarms' | 'slowSubscriptions' | 'traces'>
  /** Resolves when it can be queried. */
  start(): Promise<void>
  stop(): Promise<void>
  /** Certificates may have changed. */
  lookAtFiles(): void
}

export function observeNode(dependencies: MonitoringDependencies): Monitoring {
  const { nodeName, counters, histograms, alarms, supervisor } = dependencies
  const traces = new Traces({
    ...dependencies,
    sendToShards: (targets) =>
      supervisor.change((change) => ({ kind: 'traces', change, targets }), { traces: targets }),
  })
  supervisor.onTrace = (trace, line) => traces.note(trace, line)
  const gauges = new Gauges(counters)
  const history = new MonitorHistory(dependencies)
  const resources = new ResourceMonitor({ ...dependencies, shownCertificates: () => certificatesOf(dependencies) })
  const descriptors = new DescriptorMonitor(dependencies)
  const overload = new OverloadMonitor(histograms, alarms)
  const memory = monitorMemory(dependencies)
  return {
    operations: {
      metrics: metricOperations({ ...dependencies, gauges, history, resources, descriptors, memory }),
      alarms: alarmOperations(nodeName, alarms),
      traces,
      slowSubscriptions: slowSubscriptionOperations(nodeName, supervisor),
    },
    start: async () => {
      await traces.open()
      await history.start()
      gauges.start(() => overload.check())
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
      await history.stop()
    },
    lookAtFiles: () => void resources.lookAtCertificates(),
  }
}

function certificatesOf({ live, bridges }: MonitoringDependencies): ShownCertificate[] {
  const ofListeners = live.addresses.flatMap((listener) => {
    if (!('tls' in listener)) return []
    const { certificate, byServerName } = listener.tls
    const files = [...(certificate === undefined ? [] : [certificate]), ...byServerName]
    return files.map(({ certFile: file }) => ({ of: `listener ${listener.kind} ${listener.name}`, file }))
  })
  return [...ofListeners, ...bridges.certificates]
}
