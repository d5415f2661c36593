// Combines the monitors of this node.

import type { Log } from '../telemetry/index.ts'
import type { BridgeConfig } from './bridges/bridge-config.ts'
import type { ListenerManager } from './listeners/listener-manager.ts'
import type { Alarms } from './observe/raised-alarms.ts'
import { DescriptorMonitor } from './observe/descriptor-monitor.ts'
import { Gauges } from './observe/gauges.ts'
import { MonitorHistory } from './observe/monitor-history.ts'
import { OverloadMonitor } from './observe/overload-monitor.ts'
import { ResourceMonitor, type ShownCertificate } from './observe/resource-monitor.ts'
import { Traces } from './observe/trace-files.ts'
import { type MemoryObservation, monitorMemory } from './shards/memory-monitoring.ts'
import type { MemoryPlan } from './shards/shard-plan.ts'
import type { ShardSupervisor } from './shards/shard-supervisor.ts'

export interface MonitoringDependencies {
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
  readonly live: Pick<ListenerManager, 'addresses' | 'listStates'>
  readonly bridges: Pick<BridgeConfig, 'latest' | 'certificates'>
}

export interface Monitoring {
  readonly gauges: Gauges
  readonly history: MonitorHistory
  readonly resources: ResourceMonitor
  readonly descriptors: DescriptorMonitor
  readonly memory: MemoryObservation
  readonly traces: Traces
  /** Resolves when it can be queried. */
  start(): Promise<void>
  stop(): Promise<void>
  /** Certificates may have changed. */
  checkFiles(): void
}

export function observeNode(dependencies: MonitoringDependencies): Monitoring {
  const { counters, histograms, alarms, supervisor } = dependencies
  const traces = new Traces({
    ...dependencies,
    sendToShards: (targets) =>
      supervisor.change((change) => ({ kind: 'traces', change, targets }), { traces: targets }),
  })
  supervisor.onTrace = (trace, line) => traces.writeLine(trace, line)
  const gauges = new Gauges(counters)
  const history = new MonitorHistory(dependencies)
  const resources = new ResourceMonitor({ ...dependencies, listCertificates: () => listCertificates(dependencies) })
  const descriptors = new DescriptorMonitor(dependencies)
  const overload = new OverloadMonitor(histograms, alarms)
  const memory = monitorMemory(dependencies)
  return {
    gauges,
    history,
    resources,
    descriptors,
    memory,
    traces,
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
    checkFiles: () => void resources.checkCertificates(),
  }
}

function listCertificates({ live, bridges }: MonitoringDependencies): ShownCertificate[] {
  const ofListeners = live.addresses.flatMap((listener) => {
    if (!('tls' in listener)) return []
    const { certificate, byServerName } = listener.tls
    const files = [...(certificate === undefined ? [] : [certificate]), ...byServerName]
    return files.map(({ certFile: file }) => ({ of: `listener ${listener.kind} ${listener.name}`, file }))
  })
  return [...ofListeners, ...bridges.certificates]
}
