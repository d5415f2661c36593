// The topic of a PUBLISH: it may have a topic alias instead, and a delay within the topic.

import { reasonCodes, type PublishPacket, type Topic } from '../../protocol/index.ts'
import { endConnection } from '../connect/close-connection.ts'
import type { Connection } from '../model/connection.ts'
import { computeMaxAliasNameBytes, setIncomingAlias } from '../outgoing/topic-aliases.ts'
import { findDelayedLimit, readDelay } from '../publish/delay-message.ts'
import { countRefusal, explainDelayRefusal, refusePublish } from '../publish/refuse-publish.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Open } from '../state/connection-state.ts'
import { isKnownQoS2, type PublishAttempt } from '../state/publish-attempt.ts'

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
    const text = `the topics of its aliases have more than ${computeMaxAliasNameBytes(state)} bytes`
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

/**
 * Reads delay and topic from `$delayed/...`. Returns false if the delay is invalid or the limit of delayed messages is reached: then the message is
 * refused, and a client that cannot get a reason code is disconnected without an acknowledgement.
 */
export function resolveDelay(state: BrokerState, attempt: PublishAttempt): boolean {
  const { connection, open, packet, named } = attempt
  const delay = readDelay(named.name, state.nowMs)
  attempt.delay = delay
  if (delay !== undefined) attempt.topic = attempt.target = state.topics.internName(delay.topic)
  if (isKnownQoS2(attempt)) return true
  const limit = findDelayedLimit(state, open.session.clientId)
  if (delay !== undefined && limit === undefined && state.storage.isHealthy) return true
  const refused = explainDelayRefusal(delay, limit)
  if (packet.qos > 0 && connection.canRefuseMessages) refusePublish(state, connection, packet, refused)
  else {
    countRefusal(state, connection, packet, refused)
    const { reason, text } = refused
    if (packet.qos === 0 && delay !== undefined) state.counts.dropped['storage-full']++
    else endConnection(state, connection, { reason, text, publishWill: true })
  }
  return false
}
