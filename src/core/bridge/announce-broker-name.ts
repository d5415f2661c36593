// Tells a bridge that speaks 3.1 or 3.1.1 the name of this broker. In 5.0 CONNACK contains the name; before 5.0 the
// broker sends it directly after CONNACK in a PUBLISH to this connection only. A bridge of Godwit then reconnects with
// 5.0, so that loops can be detected. Other bridges receive a message below `$` that none of their rules match.

import type { TopicName } from '../../protocol/index.ts'
import { brokerNameTopic } from '../messages/internal-client-options.ts'
import type { Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { sendPublish, selectSendList } from '../outgoing/send-to-client.ts'
import { Message, never } from '../messages/message.ts'
import { publishHead } from '../model/send-list.ts'

const head = publishHead(0, { retain: false, dup: false }, 0)

/** Must be called directly after CONNACK was sent. The message uses no queue, no rule and no counter of messages. */
export function announceBrokerName(
  state: Parts<'batches' | 'bridges' | 'nowMs' | 'outputs' | 'topics'>,
  connection: Connection,
): void {
  const { brokerName: name } = state.bridges
  if (name === undefined || !connection.hasNoLocal || connection.listener.isInternal === true) return
  const payload = Buffer.from(name)
  const message = new Message(state.topics.internName(brokerNameTopic as TopicName), {
    qos: 0,
    retain: false,
    properties: undefined,
    publisher: '',
    publishedAtMs: state.nowMs,
    expiresAtMs: never,
    chunk: payload,
    payloadStart: 0,
    payloadEnd: payload.length,
  })
  sendPublish(selectSendList(state, connection), connection, message, head)
}
