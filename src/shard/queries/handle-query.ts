// Handles queries of the node, each with the function of its name, between two turns.

import { importRetainedFor } from './handle-query-backup.ts'
import { memoryUsersFor } from './handle-query-memory.ts'
import { publishFor, subscribeFor, unsubscribeFor } from './handle-query-publishing.ts'
import { explain } from './explain.ts'
import { handleQueryRetained } from './handle-query-retained.ts'
import { slowFor } from './handle-query-slow.ts'
import type { QueryResult, QueryName, QueryOf, ShardQuery } from '../messages/query-types.ts'
import type { QueriedShard } from './queried-shard.ts'
import { sliceWantedOf } from '../runtime/result-slices.ts'

type QueryHandlers = {
  readonly [Name in QueryName]: (
    shard: QueriedShard,
    query: QueryOf<Name>,
    nowMs: number,
  ) => QueryResult<Name> | Promise<QueryResult<Name>>
}

const handlers: QueryHandlers = {
  'list-clients': ({ core }, query) => core.view.listClients(query.filter, sliceWantedOf(query)),
  'list-subscriptions': ({ core }, query) => core.view.listSubscriptions(query.filter, sliceWantedOf(query)),
  'session-count': ({ core }) => core.view.sessions,
  'cached-authorizations': ({ core }, { clientId }) => ({ found: core.view.cachedAuthorizations(clientId) }),
  'change-client': async ({ commands }, { command }) => (await commands.run(command)).done,
  client: ({ core }, { clientId }) => {
    const client = core.view.client(clientId)
    return client === undefined ? [] : [client]
  },
  retained: handleQueryRetained,
  'retained-message': ({ core }, { topic }) => core.view.retainedMessage(topic) ?? null,
  'delayed-messages': ({ core }, { skip, maxRows }) => ({
    count: core.view.delayedMessages,
    rows: core.view.delayedSlice(skip, maxRows),
  }),
  'delayed-message': ({ core }, { id }) => core.view.delayedMessage(id) ?? null,
  'delete-delayed': ({ commands }, { id }) => commands.run({ name: 'delete-delayed', id }),
  slow: slowFor,
  'memory-users': memoryUsersFor,
  publish: publishFor,
  'estimate-delivery': ({ core }, { topics, qos }) => core.view.estimateDelivery(topics, qos),
  subscribe: subscribeFor,
  unsubscribe: unsubscribeFor,
  'import-retained': importRetainedFor,
  'end-sessions': ({ commands }, { namespace, clientIds }) =>
    commands.run({ name: 'end-sessions', namespace, clientIds }),
  'forget-retained': ({ commands }, { topics }) => commands.run({ name: 'forget-retained', topics }),
  explain,
  matching: ({ core }, { publication, limit }) => core.view.findMatching(publication, limit),
  flapping: ({ access }, { namespace }) => access.flapping(namespace),
  dropped: ({ eventLog }, { query, limit }) => eventLog.recentDrops.find(query, limit),
  bridges: ({ bridges }) => bridges?.reports() ?? [],
  rules: ({ rules }) => rules.report(),
  gateways: ({ gateways }) => gateways.reports(),
  'gateway-request': async ({ gateways }, { type, clientId, request }) => ({
    response: await gateways.request(type, clientId, request),
  }),
  'take-watch': ({ rules }, query, nowMs) => rules.takeWatch(query, nowMs),
  'end-watch': ({ rules }, { watch }) => {
    rules.endWatch(watch)
    return true
  },
  'topic-metrics': ({ rules }) => rules.topicMetrics(),
  'reset-topic-metrics': ({ rules }, { topic }) => {
    rules.resetTopicMetrics(topic)
    return {}
  },
  'reset-rule': ({ rules }, { rule }) => {
    rules.resetRule(rule)
    return {}
  },
  'reset-action': ({ rules }, { action }) => {
    rules.resetAction(action)
    return {}
  },
  'control-action': ({ rules }, { action, what }) => {
    rules.controlAction(action, what)
    return {}
  },
  'control-source': ({ rules, bridges }, { source, what }) => {
    bridges?.controlSource(source, what)
    rules.controlSource(source, what)
    return {}
  },
  'discard-action': async ({ rules }, { action }) => {
    await rules.discardAction(action)
    return {}
  },
  'queued-results': ({ rules }, { action }) => rules.queuedResults(action),
  'discard-queued-results': ({ rules }, { action, entry }) => ({ count: rules.discardQueuedResults(action, entry) }),
  'dead-letters': ({ rules }, { action }) => rules.deadLetters(action),
  'delete-dead-letters': ({ rules }, { action, letter }) => ({ count: rules.deleteDeadLetters(action, letter) }),
  'retry-dead-letters': ({ rules }, { action, letter }) => rules.retryDeadLetters(action, letter),
  'retry-progress': ({ rules }, { action }) => rules.retryProgress(action),
  'client-queue': ({ core }, { clientId, limit }) => core.view.clientQueue(clientId, limit) ?? null,
  timeline: ({ eventLog }, { clientId }) => eventLog.timelines.of(clientId),
}

/** `nowMs`: by the clock of the shard, whose last turn may be long ago. Rejects only for an internal error. */
export async function handleQuery(shard: QueriedShard, query: ShardQuery, nowMs: number): Promise<unknown> {
  const handle = handlers[query.kind] as (shard: QueriedShard, query: ShardQuery, nowMs: number) => unknown
  return await handle(shard, query, nowMs)
}
