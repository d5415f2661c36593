// Lists the retained messages of this shard, some entries at a time. Read only.

import type { QoS, TopicFilter, TopicName } from '../../protocol/index.ts'
import type { RetainedState } from '../state/retained-state.ts'
import { never } from '../messages/message.ts'
import { type RetainedMessage, StoredRetained, toMessage } from '../messages/retained-message.ts'

export interface RetainedView {
  readonly topic: string
  readonly qos: QoS
  readonly payloadBytes: number
  /** Client ID; '' if it was not a client. */
  readonly publisher: string
  readonly publishedAtMs: number
  /** undefined: it does not expire. */
  readonly expiresAtMs: number | undefined
}

export interface RetainedMessageView extends RetainedView {
  /** A copy with its own memory; undefined: it is on disk only. */
  readonly payload: Uint8Array | undefined
}

export interface RetainedWalk {
  /** Visits the next `limitVisited` entries, whether they match or not. */
  next(limitVisited: number): { readonly rows: readonly RetainedView[]; readonly isEnd: boolean }
}

export function walkRetained({ tree }: RetainedState, filter: TopicFilter): RetainedWalk {
  const cursor = tree.walkMatching(filter)
  return {
    next: (limitVisited) => {
      const { messages, isEnd } = cursor.next(limitVisited)
      return { rows: messages.map(toRetainedView), isEnd }
    },
  }
}

/** Undefined if the topic has no retained message on this shard. */
export function findRetainedView({ tree }: RetainedState, topic: TopicName): RetainedMessageView | undefined {
  const message = tree.get(topic)
  if (message === undefined) return undefined
  const payload = message instanceof StoredRetained ? undefined : new Uint8Array(toMessage(message).readPayload())
  return { ...toRetainedView(message), payload }
}

function toRetainedView({
  topicName,
  qos,
  payloadBytes,
  publisher,
  publishedAtMs,
  expiresAtMs,
}: RetainedMessage): RetainedView {
  const expiry = expiresAtMs === never ? undefined : expiresAtMs
  return { topic: topicName, qos, payloadBytes, publisher, publishedAtMs, expiresAtMs: expiry }
}
