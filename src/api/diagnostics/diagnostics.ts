// Explanations, dropped messages, queues and timelines of clients.

import type { Static } from '../../contract/index.ts'
import { type Handlers, refuse, quoteShortened } from '../../management/index.ts'
import { toClientName } from '../context/client-name.ts'
import { hasWildcard, parseTopicFilter, parseTopicName, type QoS } from '../../protocol/index.ts'
import {
  type DiagnosticsDependencies,
  explain,
  type Explanation,
  type ExplainRequest,
  listDropped,
  readQueue,
  readTimeline,
} from './diagnose.ts'
import type { diagnosticsEndpoints } from './endpoints.ts'

const defaultLimit = 100

export function createDiagnosticsHandlers(node: DiagnosticsDependencies): Handlers<typeof diagnosticsEndpoints> {
  return {
    explain: async ({ query }) => {
      const { clientid: clientId, action, topic, qos = 2, username, ip_address: address } = query
      const parsed = action === 'publish' ? parseTopicName(topic) : parseTopicFilter(topic)
      if (parsed === undefined) return refuse('invalidTopic', describeInvalidTopic(action, topic))
      const request = { clientId, action, topic: parsed, qos: qos as QoS, username, address }
      const explained = await explain(node, request)
      if (explained === undefined) return refuse('rpcError', 'the shard of this client is restarting; retry')
      return { code: 0, data: toExplanationResponse(request, explained) }
    },
    list_dropped: async ({ query }) => {
      const { topic, reason, clientid: clientId, since: sinceMs, _page: pageOfV4, _limit: limitOfV4 } = query
      if (topic !== undefined && hasWildcard(topic) && parseTopicFilter(topic) === undefined) {
        return refuse('invalidTopic', `"${topic}" is not a topic filter`)
      }
      const page = pageOfV4 ?? query.page ?? 1
      const limit = limitOfV4 ?? query.limit ?? defaultLimit
      const window = { skip: (page - 1) * limit, limit }
      const { messages, count, byReason } = await listDropped(node, { topic, reason, clientId, sinceMs }, window)
      const data = messages.map(({ atMs, subscriber, publisher, plugin, ...message }) => ({
        ts: atMs,
        ...message,
        plugin: plugin ?? null,
        publisher: toClientName(publisher).clientid,
        clientid: toClientName(subscriber).clientid,
      }))
      return { code: 0, data, meta: { page, limit, count, by_reason: byReason } }
    },
    client_queue: async ({ params: { clientid }, query: { _limit: limitOfV4, limit } }) => {
      const rows = await readQueue(node, clientid, limitOfV4 ?? limit ?? defaultLimit)
      if (rows === 'no-response') return refuse('rpcError', 'the shard of this client is restarting; retry')
      if (rows === 'no-client') return refuse('clientOffline', `client not found: ${quoteShortened(clientid)}`)
      const data = rows.map(({ state, qos, topic, payloadBytes, publishedAtMs }) => ({
        topic: topic ?? null,
        qos,
        payload_bytes: payloadBytes ?? null,
        publish_at: publishedAtMs ?? null,
        state,
      }))
      return { code: 0, data }
    },
    client_timeline: async ({ params }) => {
      const moments = await readTimeline(node, params.clientid)
      if (moments === undefined) return refuse('rpcError', 'the shard of this client is restarting; retry')
      const data = moments.map(({ atMs, event, text, reasonCode, address, count }) => ({
        ts: atMs,
        event,
        text,
        reason_code: reasonCode ?? null,
        ip_address: address ?? null,
        count,
      }))
      return { code: 0, data }
    },
  }
}

function describeInvalidTopic(action: 'publish' | 'subscribe', topic: string): string {
  return action === 'publish'
    ? `invalid topic name: ${quoteShortened(topic)}; use 1 to 65535 bytes without wildcards`
    : `invalid topic filter: ${quoteShortened(topic)}; use + and # only as whole levels, and # only as the last level`
}

function toExplanationResponse(
  { clientId, action, topic }: ExplainRequest,
  { client, decision, obstacle, topicHere, quotas, subscriptions, isCut }: Explanation,
): Static<(typeof diagnosticsEndpoints)['explain']['reply']>['data'] {
  return {
    clientid: clientId,
    action,
    topic,
    client: {
      connected: client.isConnected,
      session: client.hasSession,
      username: client.username ?? null,
      ip_address: client.address ?? null,
      authenticated_by: client.authenticatedBy ?? null,
      superuser: client.isSuperuser,
    },
    decision: {
      result: decision === undefined ? 'unknown' : decision.allows ? 'allow' : 'deny',
      because: decision?.because ?? 'service',
      rule: decision?.rule ?? null,
      place: decision?.place ?? null,
    },
    obstacle: obstacle ?? null,
    topic_here: topicHere,
    subscriptions: subscriptions.map((one) => ({
      clientid: toClientName(one.clientId).clientid,
      topic: one.filter,
      qos: one.grantedQoS,
      delivered_qos: one.deliveredQoS,
      connected: one.isConnected,
      outcome: one.outcome,
    })),
    truncated: isCut,
    quotas: Object.fromEntries(
      quotas.map(({ name, used, limit }) => [name, { used, limit, left: Math.max(0, limit - used) }]),
    ),
  }
}
