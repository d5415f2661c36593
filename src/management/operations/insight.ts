// What the management asks of the node about where messages went and what happened to clients.

import type { dropReasonNames, momentNames } from '../../contract/index.ts'

export type DropReasonName = (typeof dropReasonNames)[number]

export interface InsightOperations {
  /** Newest first; `limit` of them behind the first `skip`. */
  listDropped(query: DroppedSought, window: { readonly skip: number; readonly limit: number }): Promise<DroppedPage>
  /** In order; undefined: the shard of the client does not answer. */
  timelineOf(clientId: string): Promise<readonly ClientMoment[] | undefined>
}

/** undefined: any. */
export interface DroppedSought {
  readonly topic: string | undefined
  readonly reason: DropReasonName | undefined
  readonly clientId: string | undefined
  readonly sinceMs: number | undefined
}

export interface DroppedPage {
  readonly messages: readonly DroppedEntry[]
  /** All that fit. */
  readonly count: number
  /** Since the start, remembered or not. */
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

export interface ClientMoment {
  readonly atMs: number
  readonly event: (typeof momentNames)[number]
  readonly text: string
  readonly reasonCode: number | undefined
  readonly address: string | undefined
  readonly count: number
}
