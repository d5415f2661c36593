// Delayed messages for administrators.

import type { QoS, TopicName } from '../../protocol/index.ts'
import type { DelayedMessage, WillState } from '../state/will-state.ts'

export interface DelayedView {
  readonly id: string
  /** The name of its record. */
  readonly record: string
  readonly dueAtMs: number
  readonly topic: TopicName
  readonly qos: QoS
  readonly publisher: string
  readonly publisherUsername: string | undefined
  readonly publishedAtMs: number
  readonly payloadBytes: number
  /** Only in the view of one message; undefined: it is on disk. */
  readonly payload: Uint8Array | undefined
}

/** Returns at most `most` messages after the first `skip`, without payloads. */
export function listDelayed({ delayedMessages }: WillState, skip: number, maxRows: number): readonly DelayedView[] {
  const rows: DelayedView[] = []
  let place = 0
  for (const [id, message] of delayedMessages) {
    if (rows.length >= maxRows) break
    if (place++ >= skip) rows.push(toDelayedView(id, message, false))
  }
  return rows
}

export function findDelayed({ delayedMessages }: WillState, id: string): DelayedView | undefined {
  const found = delayedMessages.get(id)
  return found === undefined ? undefined : toDelayedView(id, found, true)
}

function toDelayedView(id: string, message: DelayedMessage, hasPayload: boolean): DelayedView {
  const { will, dueAtMs, topic, qos, publisher, publisherUsername, publishedAtMs, payloadBytes } = message
  const payload = hasPayload && will.message !== undefined ? new Uint8Array(will.message.readPayload()) : undefined
  const fields = { topic, qos, publisher, publisherUsername, publishedAtMs, payloadBytes, payload }
  return { id, record: will.name, dueAtMs, ...fields }
}
