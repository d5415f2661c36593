// Publishes and subscribes on the owner shard of the client.

import { type CommandResult, shardOf } from '../../core/index.ts'
import type { OperationFailure, PublishingOperations, PublishReceipt } from './publishing.ts'
import type { Publication } from './publication.ts'
import type { ShardSupervisor } from '../../node/index.ts'

/** Timeout of a disk or shard; the request may still be completed later. */
const responseTimeoutMs = 15_000

const noReceipt = { receipt: undefined }

export function publishingOperations(supervisor: ShardSupervisor): PublishingOperations {
  return {
    publish: (publication) => publish(supervisor, publication),
    subscribe: async (clientId, filters, qos, options) =>
      failureOf(
        await withTimeout(
          supervisor.query(shardFor(supervisor, clientId), { kind: 'subscribe', clientId, filters, qos, options }),
        ),
      ),
    unsubscribe: async (clientId, filters) =>
      failureOf(
        await withTimeout(supervisor.query(shardFor(supervisor, clientId), { kind: 'unsubscribe', clientId, filters })),
      ),
  }
}

function shardFor({ size }: ShardSupervisor, clientId: string): number {
  return shardOf(clientId, size)
}

async function publish(
  supervisor: ShardSupervisor,
  publication: Publication,
): Promise<{ readonly receipt: PublishReceipt | undefined } | OperationFailure> {
  const { topics, payload, qos, retain, clientId, wantsReceipt } = publication
  const own = shardFor(supervisor, clientId)
  const estimates = wantsReceipt ? await estimateOnShards(supervisor, publication) : undefined
  const result = await withTimeout(
    supervisor.query(own, {
      kind: 'publish',
      topics,
      // A copy: a view would copy the larger buffer to the shard as a whole.
      payload: new Uint8Array(payload),
      qos,
      retain,
      properties: propertiesOf(publication),
      clientId,
      wantsDeliveries: wantsReceipt,
    }),
  )
  if (result === undefined || !result.done) return { why: result?.why ?? 'no-response' }
  if (estimates === undefined || result.deliveries === undefined) return noReceipt
  const plain = sumOf(estimates.filter((_, shard) => shard !== own))
  const { matched, sent, queued, dropped, sentToShared, queuedForShared } = result.deliveries
  const elsewhere = {
    matched: plain.matched + sentToShared + queuedForShared,
    sent: plain.sent + sentToShared,
    queued: plain.queued + queuedForShared,
    dropped: plain.dropped,
  }
  const missedHere = Math.max(0, matched - sent - queued - dropped)
  return {
    receipt: {
      matched: matched + elsewhere.matched,
      sent: sent + elsewhere.sent,
      queued: queued + elsewhere.queued,
      // The oldest message of a full queue may have to be read before it is dropped, so it is not counted yet.
      dropped: Math.max(dropped, estimates[own]?.dropped ?? 0) + elsewhere.dropped,
      missed: missedHere + elsewhere.matched - elsewhere.sent - elsewhere.queued,
      elsewhere,
    },
  }
}

type Estimate = PublishReceipt['elsewhere']

/** Returns what sessions of each shard will do with it; undefined for a shard that does not respond. */
function estimateOnShards(
  supervisor: ShardSupervisor,
  { topics, qos }: Publication,
): Promise<readonly (Estimate | undefined)[]> {
  return Promise.all(
    Array.from({ length: supervisor.size }, (_, shard) =>
      withTimeout(supervisor.query(shard, { kind: 'estimate-delivery', topics, qos })),
    ),
  )
}

function sumOf(estimates: readonly (Estimate | undefined)[]): Estimate {
  const sum = { matched: 0, sent: 0, queued: 0, dropped: 0 }
  for (const estimate of estimates) {
    sum.matched += estimate?.matched ?? 0
    sum.sent += estimate?.sent ?? 0
    sum.queued += estimate?.queued ?? 0
    sum.dropped += estimate?.dropped ?? 0
  }
  return sum
}

function propertiesOf({ properties }: Publication) {
  if (properties?.correlationData === undefined) return properties
  return { ...properties, correlationData: new Uint8Array(properties.correlationData) }
}

function failureOf(result: CommandResult | undefined): OperationFailure | undefined {
  if (result === undefined) return { why: 'no-response' }
  return result.done ? undefined : { why: result.why }
}

/** undefined after the timeout. */
async function withTimeout<Result>(result: Promise<Result | undefined>): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), responseTimeoutMs)
  })
  try {
    return await Promise.race([result, timeout])
  } finally {
    clearTimeout(timer)
  }
}
