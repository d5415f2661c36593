// Explanations, dropped messages, queues and timelines of clients: operations of the node, and handlers.

import type { diagnosticsEndpoints, dropReasonNames, eventNames } from './endpoints.ts'
import type { Static } from '../../contract/index.ts'
import { type Handlers, clientName, refuse, shortened } from '../../management/index.ts'
import { hasWildcard, parseTopicFilter, parseTopicName, type QoS } from '../../protocol/index.ts'

export type DropReasonName = (typeof dropReasonNames)[number]

export interface DiagnosticsOperations {
  /** undefined: the client's shard does not respond. */
  explain(request: ExplainRequest): Promise<Explanation | undefined>
  /** Newest first; `limit` of them after the first `skip`. */
  listDropped(query: DroppedQuery, window: { readonly skip: number; readonly limit: number }): Promise<DroppedPage>
  /** Unacknowledged messages of a client: in flight first, then in the order in which they will be sent. */
  queueOf(clientId: string, limit: number): Promise<readonly QueuedMessage[] | 'no-client' | 'no-response'>
  /** In order; undefined: the client's shard does not respond. */
  timelineOf(clientId: string): Promise<readonly ClientEvent[] | undefined>
}

export interface QueuedMessage {
  readonly state: 'waiting' | 'inflight' | 'rel'
  readonly qos: QoS
  /** Undefined: the message is not needed any more. */
  readonly topic: string | undefined
  readonly payloadBytes: number | undefined
  readonly publishedAtMs: number | undefined
}

/** The action to explain. */
export interface ExplainRequest {
  readonly clientId: string
  readonly action: 'publish' | 'subscribe'
  readonly topic: string
  readonly qos: QoS
  /** User name to assume; undefined: the known one. */
  readonly username: string | undefined
  readonly address: string | undefined
}

/** The reason, and the receivers. */
export interface Explanation {
  readonly client: {
    readonly hasSession: boolean
    readonly isConnected: boolean
    readonly username: string | undefined
    readonly address: string | undefined
    readonly authenticatedBy: string | undefined
    readonly isSuperuser: boolean
  }
  /** undefined: a remote service decides. */
  readonly decision:
    | {
        readonly allows: boolean
        readonly because: string
        readonly rule: string | undefined
        readonly place: string | undefined
        /** Of a stored rule. */
        readonly namespace?: string
      }
    | undefined
  readonly obstacle: string | undefined
  readonly topicHere: string
  readonly quotas: readonly { readonly name: string; readonly used: number; readonly limit: number }[]
  readonly subscriptions: readonly {
    readonly clientId: string
    readonly filter: string
    readonly grantedQoS: QoS
    readonly deliveredQoS: QoS
    readonly isConnected: boolean
    readonly outcome: 'sent' | 'queued' | 'missed' | 'denied' | 'own' | 'group'
  }[]
  /** True if there are more entries than returned. */
  readonly isCut: boolean
}

/** undefined: any. */
export interface DroppedQuery {
  /** Undefined: in any namespace or none. */
  readonly namespace?: string | undefined
  readonly topic: string | undefined
  readonly reason: DropReasonName | undefined
  readonly clientId: string | undefined
  readonly sinceMs: number | undefined
}

export interface DroppedPage {
  readonly messages: readonly DroppedEntry[]
  /** Number of all matching ones. */
  readonly count: number
  /** Since the start, including those not stored; for a namespace only stored ones. */
  readonly byReason: Readonly<Record<DropReasonName, number>>
}

export interface DroppedEntry {
  readonly atMs: number
  readonly topic: string
  readonly qos: number
  readonly reason: DropReasonName
  readonly publisher: string
  readonly subscriber: string
}

export interface ClientEvent {
  readonly atMs: number
  readonly event: (typeof eventNames)[number]
  readonly text: string
  readonly reasonCode: number | undefined
  readonly address: string | undefined
  readonly count: number
}

const defaultLimit = 100

export function diagnosticsHandlers(operations: DiagnosticsOperations): Handlers<typeof diagnosticsEndpoints> {
  return {
    explain: async ({ query }) => {
      const { clientid: clientId, action, topic, qos = 2, username, ip_address: address } = query
      const parsed = action === 'publish' ? parseTopicName(topic) : parseTopicFilter(topic)
      if (parsed === undefined) return refuse('invalidTopic', invalidTopicText(action, topic))
      const request = { clientId, action, topic: parsed, qos: qos as QoS, username, address }
      const explained = await operations.explain(request)
      if (explained === undefined) return refuse('rpcError', 'the shard of this client is restarting; retry')
      return { code: 0, data: explanationOf(request, explained) }
    },
    list_dropped: async ({ query }) => {
      const { topic, reason, clientid: clientId, since: sinceMs, _page: pageOfV4, _limit: limitOfV4 } = query
      if (topic !== undefined && hasWildcard(topic) && parseTopicFilter(topic) === undefined) {
        return refuse('invalidTopic', `"${topic}" is not a topic filter`)
      }
      const page = pageOfV4 ?? query.page ?? 1
      const limit = limitOfV4 ?? query.limit ?? defaultLimit
      const window = { skip: (page - 1) * limit, limit }
      const { messages, count, byReason } = await operations.listDropped({ topic, reason, clientId, sinceMs }, window)
      const data = messages.map(({ atMs, subscriber, publisher, ...message }) => ({
        ts: atMs,
        ...message,
        publisher: clientName(publisher).clientid,
        clientid: clientName(subscriber).clientid,
      }))
      return { code: 0, data, meta: { page, limit, count, by_reason: byReason } }
    },
    client_queue: async ({ params: { clientid }, query: { _limit: limitOfV4, limit } }) => {
      const rows = await operations.queueOf(clientid, limitOfV4 ?? limit ?? defaultLimit)
      if (rows === 'no-response') return refuse('rpcError', 'the shard of this client is restarting; retry')
      if (rows === 'no-client') return refuse('clientOffline', `client not found: ${shortened(clientid)}`)
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
      const moments = await operations.timelineOf(params.clientid)
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

function invalidTopicText(action: 'publish' | 'subscribe', topic: string): string {
  return action === 'publish'
    ? `invalid topic name: ${shortened(topic)}; use 1 to 65535 bytes without wildcards`
    : `invalid topic filter: ${shortened(topic)}; use + and # only as whole levels, and # only as the last level`
}

function explanationOf(
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
      clientid: clientName(one.clientId).clientid,
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
