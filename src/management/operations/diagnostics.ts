// Traces of messages and events of clients, for the API.

import type { dropReasonNames, eventNames } from '../../contract/index.ts'
import type { QoS } from '../../protocol/index.ts'

export type DropReasonName = (typeof dropReasonNames)[number]

export interface DiagnosticsOperations {
  /** undefined: the client's shard does not respond. */
  explain(doing: ExplainRequest): Promise<Explanation | undefined>
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
