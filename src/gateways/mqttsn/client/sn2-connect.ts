// Checks the options of a CONNECT of MQTT-SN 2.0 [3.1].

import { reasonCodes } from '../../../protocol/index.ts'
import type { StoredWill } from '../model/stored-sessions.ts'
import type { ConnectOptions, SnRequest } from '../codec/sn-packets.ts'
import type { PredefinedTopics } from '../model/topic-ids.ts'
import { sn2ReasonCodes } from '../codec/sn2-packet-types.ts'

/** Returns the reason code with which the gateway refuses the CONNECT; undefined: it is passed to the broker. */
export function checkSn2Connect(
  { options, durationSeconds }: SnRequest & { type: 'connect' },
  predefined: PredefinedTopics,
): number | undefined {
  if (options === undefined) return undefined
  if (options.problem !== undefined) return options.problem
  // [3.1.6-4]
  if (durationSeconds === 0) return sn2ReasonCodes.protocolError
  const hasTopic = options.will === undefined || findWillTopic(options.will, predefined) !== undefined
  return hasTopic ? undefined : reasonCodes.topicNameInvalid
}

/** Undefined: none, or of an unknown topic. */
export function toStoredWill(options: ConnectOptions, predefined: PredefinedTopics): StoredWill | undefined {
  const { will } = options
  const topic = will === undefined ? undefined : findWillTopic(will, predefined)
  return will === undefined || topic === undefined ? undefined : { ...will, topic }
}

function findWillTopic(
  { topic }: NonNullable<ConnectOptions['will']>,
  predefined: PredefinedTopics,
): string | undefined {
  return typeof topic === 'string' ? topic : predefined.findName(topic)
}
