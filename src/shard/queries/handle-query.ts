// Handles queries of the node, each with the function of its name, between two turns.

import { handleQueryImportRetained } from './handle-query-import-retained.ts'
import { handleQueryMemory } from './handle-query-memory.ts'
import { handleQueryPublish, handleQuerySubscribe, handleQueryUnsubscribe } from './handle-query-publish.ts'
import { explain } from './explain-permission.ts'
import { handleQueryBusy, handleQueryRanked } from './handle-query-ranked.ts'
import { handleQueryRetained } from './handle-query-retained.ts'
import { handleQuerySlow } from './handle-query-slow.ts'
import type { QueryResult, QueryName, QueryOf, ShardQuery } from '../messages/query-types.ts'
import type { QueriedShard } from './queried-shard.ts'
import { createSliceWanted } from '../runtime/result-slices.ts'

type QueryHandlers = {
  readonly [Name in QueryName]: (
    shard: QueriedShard,
    query: QueryOf<Name>,
    nowMs: number,
  ) => QueryResult<Name> | Promise<QueryResult<Name>>
}

const handlers: QueryHandlers = {
  'list-clients': ({ core }, query) => core.view.listClients(query.filter, createSliceWanted(query)),
  'list-subscriptions': ({ core }, query) => core.view.listSubscriptions(query.filter, createSliceWanted(query)),
  'session-count': ({ core }) => core.view.sessions,
  'cached-authorizations': ({ core }, { clientId }) => ({ found: core.view.listCachedAuthorizations(clientId) }),
  drain: async ({ commands }, { isDraining, maxClients }) => {
    const result = await commands.run({ name: 'drain', isDraining, maxClients })
    return { connected: result.done ? result.matched : 0 }
  },
  'change-client': async ({ commands }, { command }) => (await commands.run(command)).done,
  client: ({ core }, { clientId }) => {
    const client = core.view.findClient(clientId)
    return client === undefined ? [] : [client]
  },
  retained: handleQueryRetained,
  'retained-message': ({ core }, { topic }) => core.view.findRetainedView(topic) ?? null,
  'delayed-messages': ({ core }, { skip, maxRows }) => ({
    count: core.view.delayedMessages,
    rows: core.view.listDelayed(skip, maxRows),
  }),
  'delayed-message': ({ core }, { id }) => core.view.findDelayed(id) ?? null,
  'delete-delayed': ({ commands }, { id }) => commands.run({ name: 'delete-delayed', id }),
  'ranked-clients': handleQueryRanked,
  'busy-clients': handleQueryBusy,
  slow: handleQuerySlow,
  'memory-users': handleQueryMemory,
  publish: handleQueryPublish,
  'estimate-delivery': ({ core }, { topics, qos }) => core.view.estimateDelivery(topics, qos),
  subscribe: handleQuerySubscribe,
  unsubscribe: handleQueryUnsubscribe,
  'import-retained': handleQueryImportRetained,
  'end-sessions': ({ commands }, { namespace, clientIds }) =>
    commands.run({ name: 'end-sessions', namespace, clientIds }),
  'forget-retained': ({ commands }, { topics }) => commands.run({ name: 'forget-retained', topics }),
  explain,
  matching: ({ core }, { publication, limit }) => core.view.findMatching(publication, limit),
  flapping: ({ access }, { namespace }) => access.listFlappingBans(namespace),
  dropped: ({ eventLog }, { query, limit }) => eventLog.recentDrops.find(query, limit),
  bridges: ({ bridges }) => bridges?.listReports() ?? [],
  rules: ({ rules }) => rules.report(),
  'open-plugin-channel': async ({ plugins }, { process, plugin, socketPath }) => {
    try {
      return { descriptor: await plugins.openChannel(process, plugin, socketPath) }
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) }
    }
  },
  'release-plugin-channel': ({ plugins }, { process }) => {
    plugins.releaseDescriptor(process)
    return {}
  },
  'close-plugin-channel': async ({ plugins }, { process }) => {
    await plugins.closeChannel(process)
    return {}
  },
  gateways: ({ gateways }) => gateways.listReports(),
  'gateway-request': async ({ gateways }, { type, clientId, request }) => ({
    response: await gateways.request(type, clientId, request),
  }),
  'take-watch': ({ rules }, query, nowMs) => rules.takeWatch(query, nowMs),
  'end-watch': ({ rules }, { watch }) => {
    rules.endWatch(watch)
    return true
  },
  'topic-metrics': ({ rules }) => rules.listTopicMetrics(),
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
  'queued-results': ({ rules }, { action }) => rules.listQueuedResults(action),
  'discard-queued-results': ({ rules }, { action, entry }) => ({ count: rules.discardQueuedResults(action, entry) }),
  'dead-letters': ({ rules }, { action }) => rules.listDeadLetters(action),
  'delete-dead-letters': ({ rules }, { action, letter }) => ({ count: rules.deleteDeadLetters(action, letter) }),
  'retry-dead-letters': ({ rules }, { action, letter }) => rules.retryDeadLetters(action, letter),
  'retry-progress': ({ rules }, { action }) => rules.readRetryProgress(action),
  'client-queue': ({ core }, { clientId, limit }) => core.view.findClientQueue(clientId, limit) ?? null,
  timeline: ({ eventLog }, { clientId }) => eventLog.timelines.listEntries(clientId),
}

/** `nowMs`: by the clock of the shard, whose last turn may be long ago. Rejects only for an internal error. */
export async function handleQuery(shard: QueriedShard, query: ShardQuery, nowMs: number): Promise<unknown> {
  const handle = handlers[query.kind] as (shard: QueriedShard, query: ShardQuery, nowMs: number) => unknown
  return await handle(shard, query, nowMs)
}
