import type { MetricOperations } from '../../management/index.ts'
import { counterCells, Counters, histogramRows } from '../../telemetry/index.ts'
import type { Alarms } from '../observe/alarms.ts'
import type { BridgeConfig } from '../bridges/bridge-config.ts'
import type { ListenerManager } from '../listeners/listener-manager.ts'
import type { Gauges } from '../observe/gauges.ts'
import type { MonitorHistory } from '../observe/monitor-history.ts'
import type { MemoryObservation } from '../shards/memory-monitoring.ts'
import type { ResourceMonitor } from '../observe/resource-monitor.ts'
import type { DescriptorMonitor } from '../observe/descriptor-monitor.ts'

export interface MetricSources {
  readonly nodeName: string
  readonly counters: SharedArrayBuffer
  readonly histograms: SharedArrayBuffer
  readonly gauges: Gauges
  readonly history: Pick<MonitorHistory, 'latest'>
  readonly alarms: Alarms
  readonly live: Pick<ListenerManager, 'states'>
  readonly bridges: Pick<BridgeConfig, 'latest'>
  readonly resources: Pick<ResourceMonitor, 'diskFreeBytes' | 'certificates'>
  readonly descriptors: Pick<DescriptorMonitor, 'open' | 'lackingSeconds'>
  readonly memory: Pick<MemoryObservation, 'watch' | 'held'>
  readonly supervisor: { readonly running: number; readonly restarts: number }
}

export function metricOperations(sources: MetricSources): MetricOperations {
  const { nodeName, gauges, alarms, supervisor, live, bridges, resources, descriptors, memory } = sources
  const startedAtMs = performance.now()
  const rows = histogramRows(sources.histograms).map((histograms, shard) => ({
    histograms,
    counters: new Counters(sources.counters, shard),
  }))
  return {
    nodeName,
    history: (ms) => sources.history.latest(ms),
    read: () => ({
      ...gauges.read(),
      memoryLimitBytes: memory.watch.limitBytes,
      memoryLevel: memory.watch.level,
      memoryHeld: memory.held(),
      uptimeMs: performance.now() - startedAtMs,
      shards: rows.map(({ histograms, counters }) => ({
        histograms,
        connections: counters.get(counterCells.connectionsOpen),
      })),
      listeners: live.states().map(({ listener, connections, accepted, refused }) => ({
        listener: `${listener.kind}:${listener.name}`,
        connections,
        accepted,
        refused,
      })),
      bridges: bridges.latest,
      shardsRunning: supervisor.running,
      shardRestarts: supervisor.restarts,
      alarms: alarms.active().map(({ name }) => name),
      diskFreeBytes: resources.diskFreeBytes,
      certificates: resources.certificates,
      openFiles: descriptors.open,
      openFilesLackingSeconds: descriptors.lackingSeconds,
    }),
  }
}
