// Publishes and subscribes in the name of a client, on the owner shard of its session.

import { type CommandResult, computeOwnerShard, type SubscribeCommandOptions } from '../../core/index.ts'
import type { QueryableShards } from '../../node/index.ts'
import type { QoS, TopicFilter } from '../../protocol/index.ts'
import type { Names } from '../context/names.ts'
import type { Publication } from './publication.ts'

export interface ActingDependencies {
  readonly supervisor: QueryableShards
  readonly names: Names
}

/** Why it failed. */
export interface OperationFailure {
  readonly why:
    | 'no-such-client'
    | 'invalid-topic'
    | 'storage-failing'
    | 'not-allowed'
    | 'too-large'
    | 'receiver-full'
    | 'shard-behind'
    | 'not-available'
    | 'quota-exceeded'
    /** The shard is restarting, or does not respond. */
    | 'no-response'
}

/** Deliveries of a publication; the endpoint describes the counts. */
export interface PublishReceipt {
  readonly matched: number
  readonly sent: number
  readonly queued: number
  readonly dropped: number
  readonly missed: number
  readonly elsewhere: Pick<PublishReceipt, 'matched' | 'sent' | 'queued' | 'dropped'>
}

/** Timeout of a disk or shard; the request may still be completed later. */
const responseTimeoutMs = 15_000

const noReceipt = { receipt: undefined }

export interface SubscribeAct {
  readonly clientId: string
  /** As the client sends them: its session adds the prefix of a namespace. */
  readonly filters: readonly TopicFilter[]
  readonly qos: QoS
  readonly options?: SubscribeCommandOptions
}

/** undefined: success, and durable. */
export async function subscribeClient(
  { supervisor, names }: ActingDependencies,
  { clientId: own, ...subscription }: SubscribeAct,
): Promise<OperationFailure | undefined> {
  const clientId = names.toSessionName(own)
  const query = { kind: 'subscribe', clientId, ...subscription } as const
  return toFailure(await awaitWithTimeout(supervisor.query(selectShard(supervisor, clientId), query)))
}

/** undefined: success, and durable. */
export async function unsubscribeClient(
  { supervisor, names }: ActingDependencies,
  own: string,
  filters: readonly TopicFilter[],
): Promise<OperationFailure | undefined> {
  const clientId = names.toSessionName(own)
  const query = { kind: 'unsubscribe', clientId, filters } as const
  return toFailure(await awaitWithTimeout(supervisor.query(selectShard(supervisor, clientId), query)))
}

function selectShard({ size }: QueryableShards, clientId: string): number {
  return computeOwnerShard(clientId, size)
}

/** Publishes to all topics or to none. Resolves when the message is durable, with a receipt if requested. */
export async function publishForClient(
  { supervisor, names }: ActingDependencies,
  requested: Publication,
): Promise<{ readonly receipt: PublishReceipt | undefined } | OperationFailure> {
  const publication = scope(requested, names)
  const { topics, payload, qos, retain, clientId, wantsReceipt } = publication
  const own = selectShard(supervisor, clientId)
  const estimates = wantsReceipt ? await estimateOnShards(supervisor, publication) : undefined
  const result = await awaitWithTimeout(
    supervisor.query(own, {
      kind: 'publish',
      topics,
      // A copy: a view would copy the larger buffer to the shard as a whole.
      payload: new Uint8Array(payload),
      qos,
      retain,
      properties: copyProperties(publication),
      clientId,
      wantsDeliveries: wantsReceipt,
    }),
  )
  if (result === undefined || !result.done) return { why: result?.why ?? 'no-response' }
  if (estimates === undefined || result.deliveries === undefined) return noReceipt
  const plain = sumEstimates(estimates.filter((_, shard) => shard !== own))
  const { matched, sent, queued, dropped, missed, sentToShared, queuedForShared } = result.deliveries
  const elsewhere = {
    matched: plain.matched + sentToShared + queuedForShared,
    sent: plain.sent + sentToShared,
    queued: plain.queued + queuedForShared,
    dropped: plain.dropped,
  }
  return {
    receipt: {
      matched: matched + elsewhere.matched,
      sent: sent + elsewhere.sent,
      queued: queued + elsewhere.queued,
      // The oldest message of a full queue may have to be read before it is dropped, so it is not counted yet.
      dropped: Math.max(dropped, estimates[own]?.dropped ?? 0) + elsewhere.dropped,
      missed: missed + elsewhere.matched - elsewhere.sent - elsewhere.queued,
      elsewhere,
    },
  }
}

function scope(publication: Publication, names: Names): Publication {
  const [first, ...rest] = publication.topics
  const topics = [names.mountPublished(first), ...rest.map((topic) => names.mountPublished(topic))] as const
  return { ...publication, topics, clientId: names.toSessionName(publication.clientId) }
}

type Estimate = PublishReceipt['elsewhere']

/** Returns what sessions of each shard will do with it; undefined for a shard that does not respond. */
function estimateOnShards(
  supervisor: QueryableShards,
  { topics, qos }: Publication,
): Promise<readonly (Estimate | undefined)[]> {
  return Promise.all(
    Array.from({ length: supervisor.size }, (_, shard) =>
      awaitWithTimeout(supervisor.query(shard, { kind: 'estimate-delivery', topics, qos })),
    ),
  )
}

function sumEstimates(estimates: readonly (Estimate | undefined)[]): Estimate {
  const sum = { matched: 0, sent: 0, queued: 0, dropped: 0 }
  for (const estimate of estimates) {
    sum.matched += estimate?.matched ?? 0
    sum.sent += estimate?.sent ?? 0
    sum.queued += estimate?.queued ?? 0
    sum.dropped += estimate?.dropped ?? 0
  }
  return sum
}

function copyProperties({ properties }: Publication) {
  if (properties?.correlationData === undefined) return properties
  return { ...properties, correlationData: new Uint8Array(properties.correlationData) }
}

function toFailure(result: CommandResult | undefined): OperationFailure | undefined {
  if (result === undefined) return { why: 'no-response' }
  return result.done ? undefined : { why: result.why }
}

/** undefined after the timeout. */
async function awaitWithTimeout<Result>(result: Promise<Result | undefined>): Promise<Result | undefined> {
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
