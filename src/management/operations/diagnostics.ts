// What the management asks of the node about where messages went and what happened to clients.

import type { dropReasonNames, eventNames } from '../../contract/index.ts'
import type { QoS } from '../../protocol/index.ts'

export type DropReasonName = (typeof dropReasonNames)[number]

export interface DiagnosticsOperations {
  /** undefined: the shard of the client does not answer. */
  explain(doing: ExplainRequest): Promise<Explanation | undefined>
  /** Newest first; `limit` of them behind the first `skip`. */
  listDropped(query: DroppedQuery, window: { readonly skip: number; readonly limit: number }): Promise<DroppedPage>
  /** What a client has not acknowledged: in flight first, then in the order in which it will be sent. */
  queueOf(clientId: string, limit: number): Promise<readonly QueuedMessage[] | 'no-client' | 'no-answer'>
  /** In order; undefined: the shard of the client does not answer. */
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

/** What is to be explained. */
export interface ExplainRequest {
  readonly clientId: string
  readonly action: 'publish' | 'subscribe'
  readonly topic: string
  readonly qos: QoS
  /** To be assumed; undefined: what is known. */
  readonly username: string | undefined
  readonly address: string | undefined
}

/** Why, and who would hear it. */
export interface Explanation {
  readonly client: {
    readonly hasSession: boolean
    readonly isConnected: boolean
    readonly username: string | undefined
    readonly address: string | undefined
    readonly authenticatedBy: string | undefined
    readonly isSuperuser: boolean
  }
  /** undefined: a service elsewhere would be asked. */
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
  /** There are more. */
  readonly isCut: boolean
}

/** undefined: any. */
export interface DroppedQuery {
  /** Undefined: whatever lies in it or not. */
  readonly namespace?: string | undefined
  readonly topic: string | undefined
  readonly reason: DropReasonName | undefined
  readonly clientId: string | undefined
  readonly sinceMs: number | undefined
}

export interface DroppedPage {
  readonly messages: readonly DroppedEntry[]
  /** All that fit. */
  readonly count: number
  /** Since the start, remembered or not; of a namespace those that are remembered. */
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
