// A message for several persistent sessions is stored once as a payload; their queued records contain its ID. This file
// replaces IDs by messages.

import type { StoredMessage, StoredRecord } from '../../records/index.ts'
import type { StorageAlarm } from '../store.ts'

/** Returns the IDs of payloads in queued records, each once. */
export function collectPayloadIds(records: readonly StoredRecord[]): number[] {
  const ids = new Set<number>()
  for (const record of records) {
    if (record.kind === 'queued' && typeof record.message === 'number') ids.add(record.message)
  }
  return [...ids]
}

/**
 * Replaces IDs by messages. Records whose payload is not among `bodies` are omitted, with one alarm for all of them.
 */
export function resolvePayloads(
  records: readonly StoredRecord[],
  payloads: ReadonlyMap<number, StoredMessage>,
  onAlarm: (alarm: StorageAlarm) => void,
): StoredRecord[] {
  const resolved: StoredRecord[] = []
  const withoutPayload: string[] = []
  for (const record of records) {
    if (record.kind !== 'queued' || typeof record.message !== 'number') {
      resolved.push(record)
      continue
    }
    const message = payloads.get(record.message)
    if (message === undefined)
      withoutPayload.push(`${record.sequence} of '${record.clientId}' (payload ${record.message})`)
    else resolved.push({ ...record, message, payloadId: record.message })
  }
  if (withoutPayload.length > 0) onAlarm({ alarm: 'body-missing', text: describeMissingPayloads(withoutPayload) })
  return resolved
}

function describeMissingPayloads(withoutPayload: readonly string[]): string {
  const more = withoutPayload.length > 1 ? ` and of ${withoutPayload.length - 1} more` : ''
  return `The stored message of queued record ${withoutPayload[0]}${more} was lost: the message is not delivered.`
}
