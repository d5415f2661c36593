// Runs publish and subscribe queries of the API as commands of the core.

import type { CommandResult } from '../../core/index.ts'
import type { MessageProperties } from '../../protocol/index.ts'
import type { PublishQuery, QueryOf } from '../messages/query-types.ts'
import type { QueriedShard } from './queried-shard.ts'

export function handleQueryPublish({ commands }: QueriedShard, query: PublishQuery): Promise<CommandResult> {
  const { topics, payload, properties, qos, retain, clientId, wantsDeliveries } = query
  const [topic, ...furtherTopics] = topics
  return commands.run({
    name: 'publish',
    topic,
    furtherTopics,
    payload: toBuffer(payload),
    qos,
    retain,
    properties: properties === undefined ? undefined : restoreProperties(properties),
    clientId,
    wantsDeliveries,
  })
}

export function handleQuerySubscribe(
  shard: QueriedShard,
  { clientId, filters, qos, options }: QueryOf<'subscribe'>,
): Promise<CommandResult> {
  return runForEach(shard, clientId, filters, (filter) =>
    shard.commands.run({ name: 'subscribe', clientId, filter, qos, options }),
  )
}

export function handleQueryUnsubscribe(
  shard: QueriedShard,
  { clientId, filters }: QueryOf<'unsubscribe'>,
): Promise<CommandResult> {
  return runForEach(shard, clientId, filters, (filter) => shard.commands.run({ name: 'unsubscribe', clientId, filter }))
}

/** `matched`: number of filters for which it succeeded. A session without a connected client is not subscribed. */
async function runForEach<Filter>(
  { core }: QueriedShard,
  clientId: string,
  filters: readonly Filter[],
  run: (filter: Filter) => Promise<CommandResult>,
): Promise<CommandResult> {
  if (core.view.findClient(clientId)?.isConnected !== true) return { done: false, why: 'no-such-client' }
  const results = await Promise.all(filters.map(run))
  let matched = 0
  for (const result of results) {
    if (!result.done) return result
    matched += result.matched
  }
  return { done: true, matched }
}

/** A structured clone turns a Buffer into a Uint8Array. */
function restoreProperties({
  correlationData,
  ...properties
}: NonNullable<PublishQuery['properties']>): MessageProperties {
  return correlationData === undefined ? properties : { ...properties, correlationData: toBuffer(correlationData) }
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
