// Memory of a message for what its publisher chose: payload, topic and properties. An estimate for limits and for the
// memory account. Objects are counted by the structures that hold them.

import type { MessageProperties } from '../../protocol/index.ts'

export function measureMessage(topic: string, payloadBytes: number, properties: MessageProperties | undefined): number {
  const size = payloadBytes + topic.length
  return properties === undefined ? size : size + measureMessageProperties(properties)
}

function measureMessageProperties({
  contentType,
  responseTopic,
  correlationData,
  userProperties,
}: MessageProperties): number {
  let size = (contentType?.length ?? 0) + (responseTopic?.length ?? 0) + (correlationData?.length ?? 0)
  for (const [name, value] of userProperties ?? []) size += name.length + value.length
  return size
}
