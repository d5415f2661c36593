// Imports retained messages of a backup through the core of the shard that owns their topics.

import type { CommandResult } from '../../core/index.ts'
import type { StoredMessage } from '../../records/index.ts'
import type { QueryOf } from '../messages/query-types.ts'
import type { QueriedShard } from './queried-shard.ts'

export function handleQueryImportRetained(
  { commands }: QueriedShard,
  { messages, payloads }: QueryOf<'import-retained'>,
): Promise<CommandResult> {
  let start = 0
  const whole = messages.map(({ payloadBytes, properties, ...message }): StoredMessage => {
    const payload = payloads.subarray(start, start + payloadBytes)
    start += payloadBytes
    return { ...message, payload, properties: restoreProperties(properties) }
  })
  return commands.run({ name: 'import-retained', messages: whole })
}

/** Restores the correlation data, because a structured clone converts a Buffer to a Uint8Array. */
function restoreProperties(properties: QueryOf<'import-retained'>['messages'][number]['properties']) {
  if (properties?.correlationData === undefined) return properties as StoredMessage['properties']
  const { buffer, byteOffset, byteLength } = properties.correlationData
  return { ...properties, correlationData: Buffer.from(buffer, byteOffset, byteLength) }
}
