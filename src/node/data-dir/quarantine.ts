// Quarantines a session or a retained message that crashed its shard twice, because the shard would fail at each restart. The records
// are written to a file next to the store and deleted from the store, and an alarm reports it.

import { createHash } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoredRecord } from '../../records/index.ts'
import type { CrashCandidate } from '../../shard/index.ts'
import type { RecordRange, Store } from '../../storage/index.ts'
import { damagedEnding } from './data-entries.ts'

const linesAtOnce = 500
const nameCharacters = 16

/** Quarantines the records of `candidate`. Resolves with a text for administrators. */
export async function quarantineCandidate(
  store: Store,
  dataDirectory: string,
  candidate: CrashCandidate,
): Promise<string> {
  const subject =
    candidate.kind === 'session'
      ? `The session of client '${candidate.clientId}' crashed its shard twice`
      : `The retained message of topic '${candidate.topic}' crashed its shard twice`
  try {
    const path =
      candidate.kind === 'session'
        ? await quarantineSession(store, dataDirectory, candidate.clientId)
        : await quarantineRetained(store, dataDirectory, candidate.topic)
    return `${subject}: it was moved from the store to ${path}.`
  } catch (error) {
    // The shard is restarted anyway, because its other clients need it.
    return `${subject} and could not be quarantined: ${error instanceof Error ? error.message : String(error)}.`
  }
}

/** Resolves with the path of the file. It has a line of JSON for each record, with payloads in base64. */
async function quarantineSession(store: Store, dataDirectory: string, clientId: string): Promise<string> {
  const path = resolvePath(dataDirectory, 'session', clientId)
  const ranges: RecordRange[] = [
    { kind: 'session', clientId },
    { kind: 'subscription', clientId },
    { kind: 'incoming', clientId },
    { kind: 'outgoing', clientId },
    { kind: 'will', clientId },
    { kind: 'queued', clientId, withPayloads: true },
  ]
  for (const range of ranges) await appendAll(path, store.read(range))
  await store.commit([{ change: 'delete-session', clientId }])
  return path
}

async function quarantineRetained(store: Store, dataDirectory: string, topic: string): Promise<string> {
  const path = resolvePath(dataDirectory, 'retained', topic)
  await appendAll(path, store.read({ kind: 'retained', topic }))
  await store.commit([{ change: 'delete', key: { kind: 'retained', topic } }])
  return path
}

function resolvePath(dataDirectory: string, kind: CrashCandidate['kind'], subject: string): string {
  const name = createHash('sha256').update(subject).digest('hex').slice(0, nameCharacters)
  return join(dataDirectory, `${kind}-${name}${damagedEnding}`)
}

async function appendAll(path: string, records: AsyncIterable<StoredRecord>): Promise<void> {
  let lines: string[] = []
  for await (const record of records) {
    if (lines.push(formatLine(record)) < linesAtOnce) continue
    await append(path, lines)
    lines = []
  }
  if (lines.length > 0) await append(path, lines)
}

function formatLine(record: StoredRecord): string {
  return JSON.stringify(record, encodeBytes)
}

function append(path: string, lines: readonly string[]): Promise<void> {
  return appendFile(path, `${lines.join('\n')}\n`, { mode: 0o600, flush: true })
}

/** Reads the original value, because `value` is already the result of the `toJSON` of a Buffer. */
function encodeBytes(this: unknown, key: string, value: unknown): unknown {
  const held = (this as Readonly<Record<string, unknown>>)[key]
  return held instanceof Uint8Array ? Buffer.from(held).toString('base64') : value
}
