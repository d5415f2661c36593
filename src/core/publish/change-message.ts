// Applies what a hook of a plugin answered to a message.

import type { Topic } from '../../protocol/index.ts'
import { copyPublisherRights, Message, never } from '../messages/message.ts'
import type { PublishHookResult } from '../model/publish-hook.ts'

export type MessageChange = Extract<PublishHookResult, { action: 'change' }>

/** Returns a message with the changed fields; its frame is encoded for each receiver. */
export function changeMessage(message: Message, topic: Topic, change: MessageChange): Message {
  const { payload, qos = message.qos, retain = message.retain } = change
  const properties = change.properties === undefined ? message.properties : (change.properties ?? undefined)
  const expiry = properties?.messageExpiryIntervalSeconds
  const expiresAtMs = expiry === undefined ? never : message.publishedAtMs + expiry * 1_000
  const changed = new Message(topic, {
    qos,
    retain,
    properties,
    publisher: message.publisher,
    publishedAtMs: message.publishedAtMs,
    expiresAtMs: change.properties === undefined ? message.expiresAtMs : expiresAtMs,
    chunk: payload ?? message.chunk,
    payloadStart: payload === undefined ? message.payloadStart : 0,
    payloadEnd: payload === undefined ? message.frameEnd : payload.length,
  })
  copyPublisherRights(changed, message)
  changed.isOwned = payload !== undefined || message.isOwned
  return changed
}
