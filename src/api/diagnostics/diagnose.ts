// Queries shards about the clients that a request can name.

import { computeOwnerShard } from '../../core/index.ts'
import type { QueryableShards } from '../../node/index.ts'
import type { QoS, TopicFilter } from '../../protocol/index.ts'
import { dropCounters, dropReasons, type QueryOf, type QueryResult } from '../../shard/index.ts'
import type { Store } from '../../storage/index.ts'
import { readCounters } from '../../telemetry/index.ts'
import type { Names } from '../context/names.ts'

export interface DiagnosticsDependencies {
  readonly supervisor: QueryableShards
  readonly counters: SharedArrayBuffer
  readonly ownStore: Pick<Store, 'read'>
  readonly names: Names
}

/** The action to explain. `username`: to assume; undefined: the known one. */
export type ExplainRequest = Omit<QueryOf<'explain'>, 'kind'> & { readonly qos: QoS }

type ShardExplanation = QueryResult<'explain'>
type Decision = Omit<NonNullable<ShardExplanation['decision']>, 'because'> & { readonly because: string }

/** The reason, and the receivers. */
export interface Explanation extends Omit<ShardExplanation, 'decision'> {
  readonly decision: Decision | undefined
  readonly subscriptions: QueryResult<'matching'>['subscriptions']
  /** True if there are more entries than returned. */
  readonly isCut: boolean
}

/** Maximum number of listed subscriptions. */
const maxSubscriptionsReported = 1_000

/** undefined: the client's shard does not respond. */
export async function explain(
  node: DiagnosticsDependencies,
  request: ExplainRequest,
): Promise<Explanation | undefined> {
  const { supervisor, names } = node
  const clientId = names.toSessionName(request.clientId)
  const explained = await supervisor.query(findOwner(node, clientId), { ...request, clientId, kind: 'explain' })
  if (explained === undefined) return undefined
  const { subscriptions, isCut } =
    request.action === 'subscribe'
      ? { subscriptions: [], isCut: false }
      : await findReceivers(supervisor, { topic: explained.topicHere, qos: request.qos, publisher: clientId })
  return {
    ...explained,
    decision: hideGlobalRule(explained.decision, names),
    topicHere: names.unmountTopic(explained.topicHere),
    // Clients without a namespace that may receive everything are not shown in a namespace.
    subscriptions: subscriptions
      .filter((one) => names.isOwn(one.clientId))
      .map((one) => ({ ...one, filter: names.unmountFilter(one.filter as TopicFilter) })),
    isCut,
  }
}

async function findReceivers(
  supervisor: QueryableShards,
  publication: QueryOf<'matching'>['publication'],
): Promise<Pick<Explanation, 'subscriptions' | 'isCut'>> {
  const found = await Promise.all(
    Array.from({ length: supervisor.size }, (_, shard) =>
      supervisor.query(shard, { kind: 'matching', publication, limit: maxSubscriptionsReported }),
    ),
  )
  const subscriptions = found.flatMap((part) => part?.subscriptions ?? [])
  return {
    subscriptions: subscriptions.slice(0, maxSubscriptionsReported),
    // Results of a shard that does not respond are unknown.
    isCut: subscriptions.length > maxSubscriptionsReported || found.some((part) => part?.isCut !== false),
  }
}

/** A caller of a namespace may not read the configuration or global rules, only that such a rule decides. Rules of a token are the client's own. */
function hideGlobalRule(decision: ShardExplanation['decision'], { namespace }: Names): Decision | undefined {
  if (decision === undefined || namespace === undefined) return decision
  if (decision.because === 'token' || decision.namespace === namespace) return decision
  const because = decision.because === 'stored-rule' ? 'global-rule' : decision.because
  return { ...decision, because, rule: undefined, place: undefined }
}

/** Records whose payloads are read together. */
const sliceRecords = 16

type QueuedMessage = Omit<NonNullable<QueryResult<'client-queue'>>['inMemory'][number], 'sequence'>

/**
 * Returns at most `limit` unacknowledged messages of a client: in flight first, then in the order in which they will be sent. The
 * first ones are in memory, the others on disk.
 */
export async function readQueue(
  node: DiagnosticsDependencies,
  ownClientId: string,
  limit: number,
): Promise<readonly QueuedMessage[] | 'no-client' | 'no-response'> {
  const { supervisor, ownStore, names } = node
  const clientId = names.toSessionName(ownClientId)
  const found = await supervisor.query(findOwner(node, clientId), { kind: 'client-queue', clientId, limit })
  if (found === undefined) return 'no-response'
  if (found === null) return 'no-client'
  const unmountTopics = (rows: readonly QueuedMessage[]): QueuedMessage[] =>
    rows.map((row) => ({ ...row, topic: row.topic === undefined ? undefined : names.unmountTopic(row.topic) }))
  const { inMemory, onDiskFrom } = found
  if (onDiskFrom === undefined || inMemory.length >= limit) return unmountTopics(inMemory)
  const known = new Set(inMemory.map(({ sequence }) => sequence))
  const rows = [...inMemory]
  const slices = { first: sliceRecords, max: sliceRecords }
  const range = { kind: 'queued', clientId, fromSequence: onDiskFrom, limit, slices, withPayloads: true } as const
  for await (const record of ownStore.read(range)) {
    if (record.kind !== 'queued' || typeof record.message === 'number' || known.has(record.sequence)) continue
    const { topic, payload, publishedAtMs } = record.message
    const { qos, sequence } = record
    rows.push({ state: 'waiting', qos, sequence, topic, payloadBytes: payload.length, publishedAtMs })
  }
  // Newer messages in memory wait behind those on disk. In-flight messages stay first.
  const waiting = rows.filter(({ state }) => state === 'waiting').toSorted((a, b) => a.sequence - b.sequence)
  return unmountTopics([...rows.filter(({ state }) => state !== 'waiting'), ...waiting].slice(0, limit))
}

/** Returns the recent events of a client, in order; undefined: the client's shard does not respond. */
export function readTimeline(
  node: DiagnosticsDependencies,
  clientId: string,
): Promise<QueryResult<'timeline'> | undefined> {
  const session = node.names.toSessionName(clientId)
  return node.supervisor.query(findOwner(node, session), { kind: 'timeline', clientId: session })
}

function findOwner({ supervisor }: DiagnosticsDependencies, session: string): number {
  return computeOwnerShard(session, supervisor.size)
}

type DroppedFound = QueryResult<'dropped'>
type DroppedQuery = Omit<QueryOf<'dropped'>['query'], 'namespace'>

interface DroppedPage {
  readonly messages: DroppedFound['newest']
  /** Number of all matching ones. */
  readonly count: number
  /** Since the start, including those not stored; for a namespace only stored ones. */
  readonly byReason: Readonly<Record<(typeof dropReasons)[number], number>>
}

/** Newest first; `limit` of them after the first `skip`. A shard that does not respond is restarting, and its list starts empty. */
export async function listDropped(
  { supervisor, counters, names }: DiagnosticsDependencies,
  requested: DroppedQuery,
  { skip, limit }: { readonly skip: number; readonly limit: number },
): Promise<DroppedPage> {
  const { namespace } = names
  const clientId = requested.clientId === undefined ? undefined : names.toSessionName(requested.clientId)
  const topic = requested.topic === undefined ? undefined : names.mount(requested.topic)
  const query = { ...requested, namespace, clientId, topic }
  const found = await Promise.all(
    Array.from({ length: supervisor.size }, (_, shard) =>
      supervisor.query(shard, { kind: 'dropped', query, limit: skip + limit }),
    ),
  )
  const newest = found.flatMap((part) => part?.newest ?? []).sort((one, other) => other.atMs - one.atMs)
  const hideOtherSession = (session: string): string => (names.isOwn(session) ? session : '')
  return {
    messages: newest.slice(skip, skip + limit).map((message) => ({
      ...message,
      // Administrators of a namespace see no plugins.
      plugin: namespace === undefined ? message.plugin : undefined,
      topic: names.unmountTopic(message.topic),
      publisher: hideOtherSession(message.publisher),
      subscriber: hideOtherSession(message.subscriber),
    })),
    count: found.reduce((sum, part) => sum + (part?.count ?? 0), 0),
    byReason: namespace === undefined ? countByReason(counters) : sumByReason(found),
  }
}

/** Since the start. */
function countByReason(counters: SharedArrayBuffer): DroppedPage['byReason'] {
  const sums = readCounters(counters)
  const counted = dropReasons.map((reason) => [reason, sums[dropCounters[reason]]])
  return Object.fromEntries(counted) as DroppedPage['byReason']
}

function sumByReason(found: readonly (DroppedFound | undefined)[]): DroppedPage['byReason'] {
  const remembered = dropReasons.map((reason) => [
    reason,
    found.reduce((sum, part) => sum + (part?.byReason?.[reason] ?? 0), 0),
  ])
  return Object.fromEntries(remembered) as DroppedPage['byReason']
}
