// Reads a range to its end.

import type { RecordKind, StoredRecord } from '../../src/records/index.ts'
import type { RecordRange, Store } from '../../src/storage/index.ts'

export const accessKinds = ['credential', 'gateway-user', 'scram', 'psk', 'rule', 'ban'] as const

export const allKinds: readonly RecordKind[] = [
  'session',
  'subscription',
  'queued',
  'payload',
  'outgoing',
  'incoming',
  'retained',
  'will',
  'fact',
  'forwarded',
  'handoff',
  ...accessKinds,
  'account',
  'api-key',
  'namespace',
]

export async function readAll(store: Store, range: RecordRange): Promise<StoredRecord[]> {
  return await gather(store.read(range))
}

/** All values of an iteration. */
export async function gather<Item>(things: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const thing of things) all.push(thing)
  return all
}

/** All records of a store. */
export async function readEverything(store: Store): Promise<StoredRecord[]> {
  const records: StoredRecord[] = []
  for (const kind of allKinds) records.push(...(await readAll(store, { kind })))
  return records
}

export function put(...records: StoredRecord[]): { change: 'put'; record: StoredRecord }[] {
  return records.map((record) => ({ change: 'put', record }))
}
