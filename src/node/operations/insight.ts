// Where messages went and what happened to clients: gathered from the shards.

import { shardOf } from '../../core/index.ts'
import type { DroppedPage, DroppedSought, InsightOperations } from '../../management/index.ts'
import { dropCounters, dropReasons } from '../../shard/index.ts'
import { readCounters } from '../../telemetry/index.ts'
import type { ShardCrew } from '../shard-crew.ts'

export function insightOperations(crew: ShardCrew, counters: SharedArrayBuffer): InsightOperations {
  return {
    listDropped: (query, window) => listDropped(crew, counters, { query, window }),
    timelineOf: (clientId) => crew.ask(shardOf(clientId, crew.size), { question: 'timeline', clientId }),
  }
}

/** A shard that does not answer has forgotten what it had: its list begins anew with it. */
async function listDropped(
  crew: ShardCrew,
  counters: SharedArrayBuffer,
  { query, window }: { query: DroppedSought; window: { skip: number; limit: number } },
): Promise<DroppedPage> {
  const { skip, limit } = window
  const shards = Array.from({ length: crew.size }, (_, shard) => shard)
  const found = await Promise.all(
    shards.map((shard) => crew.ask(shard, { question: 'dropped', query, limit: skip + limit })),
  )
  const newest = found.flatMap((part) => part?.newest ?? []).sort((one, other) => other.atMs - one.atMs)
  const sums = readCounters(counters)
  return {
    messages: newest.slice(skip, skip + limit),
    count: found.reduce((sum, part) => sum + (part?.count ?? 0), 0),
    byReason: Object.fromEntries(
      dropReasons.map((reason) => [reason, sums[dropCounters[reason]]]),
    ) as DroppedPage['byReason'],
  }
}
