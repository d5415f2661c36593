// A message for several durable sessions is stored once, as a body; their queued records hold its id. Whoever delivers
// wants the message itself.

import type { StoredMessage, StoredRecord } from '../records/index.ts'
import type { StorageAlarm } from './store.ts'

/** The ids of the bodies that queued records refer to, each once. */
export function bodyIdsOf(records: readonly StoredRecord[]): number[] {
  const ids = new Set<number>()
  for (const record of records) {
    if (record.kind === 'queued' && typeof record.message === 'number') ids.add(record.message)
  }
  return [...ids]
}

/**
 * The records with messages in the place of ids. One whose body is not among `bodies` is left out, with an alarm for
 * all of them.
 */
export function resolveBodies(
  records: readonly StoredRecord[],
  bodies: ReadonlyMap<number, StoredMessage>,
  onAlarm: (alarm: StorageAlarm) => void,
): StoredRecord[] {
  const resolved: StoredRecord[] = []
  const bereft: string[] = []
  for (const record of records) {
    if (record.kind !== 'queued' || typeof record.message !== 'number') {
      resolved.push(record)
      continue
    }
    const message = bodies.get(record.message)
    if (message === undefined) bereft.push(`${record.sequence} of '${record.clientId}' (body ${record.message})`)
    else resolved.push({ ...record, message, bodyId: record.message })
  }
  if (bereft.length > 0) onAlarm({ alarm: 'body-missing', text: bodyMissingText(bereft) })
  return resolved
}

function bodyMissingText(bereft: readonly string[]): string {
  const more = bereft.length > 1 ? ` and of ${bereft.length - 1} more` : ''
  return `The stored message of queued record ${bereft[0]}${more} is gone: not delivered.`
}
