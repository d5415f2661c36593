// Publishes and subscribes on the owner shard of the client.

import { type CommandResult, shardOf } from '../../core/index.ts'
import type { OperationFailure, Publication, PublishingOperations, PublishReceipt } from '../../management/index.ts'
import type { ShardSupervisor } from '../shards/shard-supervisor.ts'

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
  const plain = wantsReceipt ? await estimateOnShards(supervisor, own, publication) : undefined
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
  if (plain === undefined || result.deliveries === undefined) return noReceipt
  const { matched, sent, queued, dropped, sentToShared, queuedForShared } = result.deliveries
  const elsewhere = {
    matched: plain.matched + sentToShared + queuedForShared,
    sent: plain.sent + sentToShared,
    queued: plain.queued + queuedForShared,
  }
  const missedHere = Math.max(0, matched - sent - queued - dropped)
  return {
    receipt: {
      matched: matched + elsewhere.matched,
      sent: sent + elsewhere.sent,
      queued: queued + elsewhere.queued,
      dropped,
      missed: missedHere + elsewhere.matched - elsewhere.sent - elsewhere.queued,
      elsewhere,
    },
  }
}

/** Returns what sessions of the other shards will do with it. */
async function estimateOnShards(
  supervisor: ShardSupervisor,
  own: number,
  { topics, qos }: Publication,
): Promise<PublishReceipt['elsewhere']> {
  const sum = { matched: 0, sent: 0, queued: 0 }
  const others = Array.from({ length: supervisor.size }, (_, shard) => shard).filter((shard) => shard !== own)
  const responses = await Promise.all(
    others.map((shard) => withTimeout(supervisor.query(shard, { kind: 'estimate-delivery', topics, qos }))),
  )
  for (const response of responses) {
    sum.matched += response?.matched ?? 0
    sum.sent += response?.sent ?? 0
    sum.queued += response?.queued ?? 0
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
