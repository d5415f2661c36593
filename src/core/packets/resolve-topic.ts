// The topic of a PUBLISH, which may have a topic alias instead.

import { reasonCodes, type PublishPacket, type Topic } from '../../protocol/index.ts'
import { endConnection } from '../connect/close-connection.ts'
import type { Connection } from '../model/connection.ts'
import { maxAliasNameBytes, setIncomingAlias } from '../outgoing/topic-aliases.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Open } from '../state/connection-state.ts'

/** [MQTT5-3.3.2-8, -9] Returns the topic, or that of the alias; undefined if the connection is closed because of it. */
export function resolveTopic(
  state: BrokerState,
  connection: Connection,
  open: Open,
  packet: PublishPacket,
): Topic | undefined {
  const alias = packet.properties?.topicAlias
  if (alias === undefined) return packet.topic
  const invalid = { reason: reasonCodes.topicAliasInvalid, publishWill: true }
  if (alias > state.settings.maxTopicAlias) {
    endConnection(state, connection, { ...invalid, text: `topic alias above ${state.settings.maxTopicAlias}` })
    return undefined
  }
  open.incomingAliases ??= []
  const { topic } = packet
  if (topic !== undefined) {
    if (setIncomingAlias(state, connection, open.incomingAliases, { alias, topic })) return topic
    // No acknowledgement can refuse an alias, and the next packet of the client would use it.
    const text = `the topics of its aliases have more than ${maxAliasNameBytes(state)} bytes`
    endConnection(state, connection, { reason: reasonCodes.quotaExceeded, text, publishWill: true })
    return undefined
  }
  const known = open.incomingAliases[alias]
  if (known === undefined) {
    endConnection(state, connection, {
      ...invalid,
      reason: reasonCodes.protocolError,
      text: 'a topic alias that was never set',
    })
  }
  return known
}
