// Limits that CONNACK named, limits of topic names, and the format of the payload.

import { isUtf8, reasonCodes } from '../../protocol/index.ts'
import { endConnection } from '../connect/close-connection.ts'
import type { Refused } from '../model/packet-refusal.ts'
import { countRefusal, refusePublish } from '../publish/refuse-publish.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { PublishAttempt } from '../state/publish-attempt.ts'

/** Returns false if the packet exceeds a limit: it is refused, or the connection is closed. */
export function isWithinLimits(state: BrokerState, attempt: PublishAttempt): boolean {
  const { settings } = state
  const { connection, packet, topic } = attempt
  // [MQTT5-3.2.2-11] A bridge may exceed the maximum QoS, because the remote broker sets it; subscribers get a lower one.
  if (packet.qos > settings.maximumQoS && connection.listener.isInternal !== true)
    return close(state, attempt, { reason: reasonCodes.qosNotSupported, text: `QoS ${packet.qos} is not supported` })
  // [MQTT5-3.2.2-14]
  if (packet.retain && !settings.retainAvailable)
    return close(state, attempt, {
      reason: reasonCodes.retainNotSupported,
      text: 'retained messages are not supported',
    })
  if (topic.levels > settings.maxTopicLevels || topic.bytes.length > settings.maxTopicBytes)
    return refuseTopic(state, attempt)
  return packet.properties === undefined || hasValidPayloadFormat(state, attempt)
}

/** Using a feature that CONNACK excluded is a protocol error. */
function close(state: BrokerState, { connection }: PublishAttempt, why: Pick<Refused, 'reason' | 'text'>): false {
  endConnection(state, connection, { ...why, publishWill: true })
  return false
}

/**
 * mqtt.max_topic_levels and mqtt.max_topic_length. [MQTT5-3.4.2.1, 3.5.2.1] A QoS 0 PUBLISH, or one before 5.0, has no acknowledgement with a
 * reason code.
 */
function refuseTopic(state: BrokerState, attempt: PublishAttempt): false {
  const { connection, packet } = attempt
  const { maxTopicLevels, maxTopicBytes } = state.settings
  const text = `the topic name has more than ${maxTopicLevels} levels or ${maxTopicBytes} bytes`
  const refused: Refused = { reason: reasonCodes.topicNameInvalid, cause: 'invalid-topic', text }
  if (packet.qos > 0 && connection.version === 5) {
    refusePublish(state, connection, packet, refused)
    return false
  }
  countRefusal(state, connection, packet, refused)
  return close(state, attempt, refused)
}

/**
 * [MQTT5-3.3.2.3.2] [MQTT5-4.13.1-1] A QoS 0 PUBLISH can be refused only by closing the connection. Internal
 * clients are exempt, because their messages come from other clients.
 */
function hasValidPayloadFormat(state: BrokerState, attempt: PublishAttempt): boolean {
  const { connection, packet } = attempt
  const { chunk, payloadStart, frameEnd, properties } = packet
  const isChecked = state.settings.validatesPayloadFormat && properties?.payloadFormatIndicator === 1
  if (!isChecked || isUtf8(chunk, payloadStart, frameEnd)) return true
  const text = 'the payload format indicator is 1, but the payload is not UTF-8'
  const refused: Refused = { reason: reasonCodes.payloadFormatInvalid, cause: 'invalid-payload', text }
  if (packet.qos > 0) {
    refusePublish(state, connection, packet, refused)
    return false
  }
  countRefusal(state, connection, packet, refused)
  if (connection.listener.isInternal !== true) return close(state, attempt, refused)
  state.counts.dropped['not-allowed']++
  return false
}
