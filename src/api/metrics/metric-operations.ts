import type { MetricOperations } from './metrics.ts'
import { counterCells, Counters, histogramRows } from '../../telemetry/index.ts'
import type {
  Alarms,
  BridgeConfig,
  ListenerManager,
  Gauges,
  MonitorHistory,
  MemoryObservation,
  ResourceMonitor,
  DescriptorMonitor,
} from '../../node/index.ts'

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
