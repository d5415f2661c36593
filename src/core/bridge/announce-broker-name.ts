// A bridge that speaks 3.1 or 3.1.1 is told which broker it has come to: what CONNACK says from 5.0 on is said right behind
// it, in a PUBLISH to this connection alone. A bridge of this kind then comes again with 5.0, and what goes round is cut. To
// the bridge of another broker it is a message below `$` that no rule of it is for.

import type { TopicName } from '../../protocol/index.ts'
import { brokerNameTopic } from '../model/bridge-client-id.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import { sendPublish, sendsOf } from '../outgoing/send-to-client.ts'
import { Message, never } from '../model/message.ts'
import { publishHead } from '../model/send-list.ts'

const head = publishHead(0, { retain: false, dup: false }, 0)

/** To be called when CONNACK has been said, and before anything else. It passes no queue, no rule and no counter of messages. */
export function announceBrokerName(state: BrokerState, connection: Connection): void {
  const { brokerName: name } = state
  if (name === undefined || !connection.hasNoLocal || connection.listener.isBridge === true) return
  const payload = Buffer.from(name)
  const message = new Message(state.topics.named(brokerNameTopic as TopicName), {
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
  sendPublish(sendsOf(state, connection), connection, message, head)
}
