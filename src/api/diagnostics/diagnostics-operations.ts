// Traces of messages and events of clients, collected from the shards.

import { shardOf } from '../../core/index.ts'
import type {
  ExplainRequest,
  Explanation,
  DroppedPage,
  DroppedQuery,
  DiagnosticsOperations,
  QueuedMessage,
} from './diagnostics.ts'
import { type QueryResult, dropCounters, dropReasons } from '../../shard/index.ts'
import type { Store } from '../../storage/index.ts'
import { readCounters } from '../../telemetry/index.ts'
import type { ShardSupervisor } from '../../node/index.ts'

export function diagnosticsOperations(
  supervisor: ShardSupervisor,
  counters: SharedArrayBuffer,
  store: Pick<Store, 'read'>,
): DiagnosticsOperations {
  return {
    explain: (doing) => explain(supervisor, doing),
    listDropped: (query, window) => listDropped(supervisor, counters, { query, window }),
    queueOf: (clientId, limit) => readQueue(supervisor, store, { clientId, limit }),
    timelineOf: (clientId) => supervisor.query(shardOf(clientId, supervisor.size), { kind: 'timeline', clientId }),
  }
}

/** Records whose payloads are read together. */
const sliceRecords = 16

/** Returns messages in memory, followed by those on disk up to `limit`. */
async function readQueue(
  supervisor: ShardSupervisor,
  store: Pick<Store, 'read'>,
  { clientId, limit }: { readonly clientId: string; readonly limit: number },
): Promise<readonly QueuedMessage[] | 'no-client' | 'no-response'> {
  const found = await supervisor.query(shardOf(clientId, supervisor.size), { kind: 'client-queue', clientId, limit })
  if (found === undefined) return 'no-response'
  if (found === null) return 'no-client'
  const { inMemory, onDiskFrom } = found
  if (onDiskFrom === undefined || inMemory.length >= limit) return inMemory
  const known = new Set(inMemory.map(({ sequence }) => sequence))
  const rows = [...inMemory]
  const slices = { first: sliceRecords, max: sliceRecords }
  const range = { kind: 'queued', clientId, fromSequence: onDiskFrom, limit, slices, withPayloads: true } as const
  for await (const record of store.read(range)) {
    if (record.kind !== 'queued' || typeof record.message === 'number' || known.has(record.sequence)) continue
    const { topic, payload, publishedAtMs } = record.message
    const { qos, sequence } = record
    rows.push({ state: 'waiting', qos, sequence, topic, payloadBytes: payload.length, publishedAtMs })
  }
  // Newer messages in memory wait behind those on disk. In-flight messages stay first.
  const waiting = rows.filter(({ state }) => state === 'waiting').toSorted((a, b) => a.sequence - b.sequence)
  return [...rows.filter(({ state }) => state !== 'waiting'), ...waiting].slice(0, limit)
}

/** Maximum number of listed subscriptions. */
const maxSubscriptionsReported = 1_000

async function explain(supervisor: ShardSupervisor, doing: ExplainRequest): Promise<Explanation | undefined> {
  const { clientId, action, qos } = doing
  const explained = await supervisor.query(shardOf(clientId, supervisor.size), { ...doing, kind: 'explain' })
  if (explained === undefined) return undefined
  if (action === 'subscribe') return { ...explained, subscriptions: [], isCut: false }
  const publication = { topic: explained.topicHere, qos, publisher: clientId }
  const found = await Promise.all(
    Array.from({ length: supervisor.size }, (_, shard) =>
      supervisor.query(shard, { kind: 'matching', publication, limit: maxSubscriptionsReported }),
    ),
  )
  const subscriptions = found.flatMap((part) => part?.subscriptions ?? [])
  return {
    ...explained,
    subscriptions: subscriptions.slice(0, maxSubscriptionsReported),
    // Results of a shard that does not respond are unknown.
    isCut: subscriptions.length > maxSubscriptionsReported || found.some((part) => part?.isCut !== false),
  }
}

/** A shard that does not respond is restarting, and its list starts empty. */
async function listDropped(
  supervisor: ShardSupervisor,
  counters: SharedArrayBuffer,
  { query, window }: { query: DroppedQuery; window: { skip: number; limit: number } },
): Promise<DroppedPage> {
  const { skip, limit } = window
  const shards = Array.from({ length: supervisor.size }, (_, shard) => shard)
  const found = await Promise.all(
    shards.map((shard) => supervisor.query(shard, { kind: 'dropped', query, limit: skip + limit })),
  )
  const newest = found.flatMap((part) => part?.newest ?? []).sort((one, other) => other.atMs - one.atMs)
  return {
    messages: newest.slice(skip, skip + limit),
    count: found.reduce((sum, part) => sum + (part?.count ?? 0), 0),
    byReason: query.namespace === undefined ? countByReason(counters) : recentByReason(found),
  }
}

/** Since the start. */
function countByReason(counters: SharedArrayBuffer): DroppedPage['byReason'] {
  const sums = readCounters(counters)
  const counted = dropReasons.map((reason) => [reason, sums[dropCounters[reason]]])
  return Object.fromEntries(counted) as DroppedPage['byReason']
}

function recentByReason(found: readonly (QueryResult<'dropped'> | undefined)[]): DroppedPage['byReason'] {
  const remembered = dropReasons.map((reason) => [
    reason,
    found.reduce((sum, part) => sum + (part?.byReason?.[reason] ?? 0), 0),
  ])
  return Object.fromEntries(remembered) as DroppedPage['byReason']
}
