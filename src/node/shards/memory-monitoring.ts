// Connects the memory monitor with the shards and the system.

import { type MemoryUse, memoryUses } from '../../core/index.ts'
import { IdleGc, selectLargestUsers, createThreadHeap, readMemoryTable } from '../../shard/index.ts'
import { listHistograms } from '../../telemetry/index.ts'
import type { Alarms } from '../observe/raised-alarms.ts'
import { readResidentBytes } from '../data-dir/machine-limits.ts'
import { lookIntervalMs, MemoryMonitor, formatMib, shortestCollectionIntervalMs } from '../observe/memory-monitor.ts'
import type { ShardSupervisor } from './shard-supervisor.ts'
import type { MemoryPlan } from './shard-plan.ts'

export interface MemoryDependencies {
  readonly memory: MemoryPlan
  readonly histograms: SharedArrayBuffer
  readonly alarms: Alarms
  readonly supervisor: Pick<ShardSupervisor, 'size' | 'query' | 'send'>
}

/** Maximum clients named for each use. */
const maxNamed = 3
const bytesPerMib = 1_048_576

export interface MemoryObservation {
  readonly watch: Pick<MemoryMonitor, 'level' | 'limitBytes'>
  /** Memory for clients, by use. */
  readMemoryUse(): Record<MemoryUse, number>
  start(): void
  stop(): void
}

export function monitorMemory({ memory, histograms, alarms, supervisor }: MemoryDependencies): MemoryObservation {
  const rows = listHistograms(histograms)
  const shards = Array.from({ length: supervisor.size }, (_, shard) => shard)
  const readMemoryUse = (): Record<MemoryUse, number> => readMemoryTable(memory.table)
  let mainGc: IdleGc | undefined
  let timer: NodeJS.Timeout | undefined
  const watch = new MemoryMonitor({
    limitBytes: memory.limitBytes,
    maxHeapBytes: memory.maxHeapMb * bytesPerMib,
    read: () => ({
      residentBytes: readResidentBytes(),
      heapBytes: rows.map(({ memory: { heapBytes } }) => heapBytes),
    }),
    sendToShards: (news) => {
      for (const shard of shards) supervisor.send(shard, { kind: 'memory', ...news })
    },
    collect: () =>
      staggerWithin(shortestCollectionIntervalMs, [
        () => {
          mainGc ??= new IdleGc({
            ...createThreadHeap(),
            forget: () => {},
            readTraffic: () => 0,
            readClientBytes: () => 0,
          })
          mainGc.collectNow()
        },
        ...shards.map((shard) => () => supervisor.send(shard, { kind: 'collect-garbage' })),
      ]),
    describeLargest: () => describeLargest(supervisor, shards, readMemoryUse()),
    alarms,
  })
  return {
    watch,
    readMemoryUse,
    start: () => void (timer = setInterval(() => watch.poll(), lookIntervalMs).unref()),
    stop: () => clearInterval(timer),
  }
}

/** One after the other: if all threads collect at once, each waits for a processor and its clients wait several times as long. */
function staggerWithin(intervalMs: number, collections: readonly (() => void)[]): void {
  for (const [at, collect] of collections.entries()) setTimeout(collect, (at * intervalMs) / collections.length).unref()
}

async function describeLargest(
  supervisor: MemoryDependencies['supervisor'],
  shards: readonly number[],
  held: Readonly<Record<MemoryUse, number>>,
): Promise<string> {
  const responses = await Promise.all(
    shards.map((shard) => supervisor.query(shard, { kind: 'memory-users', maxRows: maxNamed })),
  )
  const users = selectLargestUsers(
    responses.flatMap((found) => found ?? []),
    maxNamed,
  )
  const uses = memoryUses.filter((use) => held[use] >= bytesPerMib).toSorted((a, b) => held[b] - held[a])
  if (uses.length === 0) return 'nothing of it is held for clients'
  return uses
    .map((wanted) => {
      const names = users
        .filter(({ use }) => use === wanted)
        .map(({ clientId, bytes }) => `${clientId} ${formatMib(bytes)}`)
      return `${wanted} ${formatMib(held[wanted])}${names.length === 0 ? '' : ` (most: ${names.join(', ')})`}`
    })
    .join('; ')
}
