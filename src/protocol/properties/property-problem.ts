// Properties that do not come from a packet: of rules, whose values may be anything in a payload.

import { parseTopicName } from '../topics/topic-names.ts'
import type { MessageProperties } from './properties.ts'

/** Maximum bytes of a text, and of binary data. */
const maxFieldBytes = 65_535

/**
 * Returns why a packet cannot have these properties; undefined: it can. [MQTT5-1.5.4-1] [MQTT5-1.5.4-2] [MQTT5-3.3.2-14] A receiver would
 * disconnect, and a field that is too long has no form in a packet.
 */
export function findPropertyProblem(properties: MessageProperties): string | undefined {
  const { contentType, correlationData, responseTopic, userProperties = [] } = properties
  if (responseTopic !== undefined && parseTopicName(responseTopic) === undefined)
    return 'Response-Topic is not a topic name'
  if (correlationData !== undefined && correlationData.length > maxFieldBytes)
    return `Correlation-Data is longer than ${maxFieldBytes} bytes`
  const problem = contentType === undefined ? undefined : findTextProblem(contentType)
  if (problem !== undefined) return `Content-Type ${problem}`
  for (const text of userProperties.flat()) {
    const problemOfUser = findTextProblem(text)
    if (problemOfUser !== undefined) return `a user property ${problemOfUser}`
  }
  return undefined
}

function findTextProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'contains U+0000'
  return Buffer.byteLength(text) > maxFieldBytes ? `is longer than ${maxFieldBytes} bytes` : undefined
}
