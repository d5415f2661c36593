// Writes sessions of another broker to a data directory while the broker does not run. So they exist before the first client
// connects: the session of a client that has connected before is not replaced.

import type { ImportedSession } from '../../../../lib/imports/index.ts'
import type { StoredChange, StoredRecord } from '../../../records/index.ts'
import { openLevelStore, StorageFailure, type Store } from '../../../storage/index.ts'
import { join } from 'node:path'
import { prepareDataDirectory } from '../../data-dir/data-directory.ts'
import { lockDirectory } from '../../data-dir/directory-lock.ts'
import { mainThreadNumber } from '../../shards/node-store.ts'

/** Limits of one commit. */
const maxChangesPerCommit = 1_000
const maxBytesPerCommit = 4_194_304
const maxExistingNamed = 10

export interface SessionsImport {
  readonly directory: string
  readonly sessions: number
  readonly subscriptions: number
  readonly queued: number
  readonly existing: number
  /** Client IDs of the first sessions that existed. */
  readonly existingNamed: readonly string[]
  /** Alarms about damage to the database of the directory. */
  readonly alarms: readonly string[]
}

/**
 * Writes the sessions. A session that exists is not changed. A session is complete or does not exist: its own record is
 * written last, so that an import that was interrupted can be repeated. A problem is a sentence for administrators.
 */
export async function importSessions(
  dataDirectory: string,
  sessions: readonly ImportedSession[],
): Promise<SessionsImport | { readonly problem: string }> {
  process.umask(0o077)
  const directory = await prepareDataDirectory(dataDirectory)
  if ('problem' in directory) return directory
  const locked = await lockDirectory(directory.path)
  if ('problem' in locked) return locked
  const alarms: string[] = []
  try {
    const store = await openLevelStore({
      directory: join(directory.path, 'store'),
      sync: 'commit',
      syncIntervalMs: 0,
      onAlarm: ({ text }) => void alarms.push(text),
      shard: mainThreadNumber,
    })
    try {
      return { directory: directory.path, ...(await importInto(store, sessions)), alarms }
    } finally {
      await store.close()
    }
  } catch (error) {
    if (!(error instanceof StorageFailure)) throw error
    return { problem: error.message }
  } finally {
    await locked.lock.release()
  }
}

async function importInto(
  store: Store,
  sessions: readonly ImportedSession[],
): Promise<Omit<SessionsImport, 'directory' | 'alarms'>> {
  const present = new Set<string>()
  for await (const record of store.read({ kind: 'session' }))
    if (record.kind === 'session') present.add(record.clientId)
  const counts = { sessions: 0, subscriptions: 0, queued: 0, existing: 0 }
  const existingNamed: string[] = []
  const writer = new CommitWriter(store)
  for (const imported of sessions) {
    const { clientId } = imported.session
    if (present.has(clientId)) {
      counts.existing += 1
      if (existingNamed.length < maxExistingNamed) existingNamed.push(clientId)
      continue
    }
    await writeSession(writer, imported)
    counts.sessions += 1
    counts.subscriptions += imported.subscriptions.length
    counts.queued += imported.queued.length
  }
  await writer.flush()
  return { ...counts, existingNamed }
}

async function writeSession(writer: CommitWriter, imported: ImportedSession): Promise<void> {
  const { session, subscriptions, queued, outgoing, incoming } = imported
  // An interrupted import may have left records without their session.
  await writer.add({ change: 'delete-session', clientId: session.clientId })
  for (const records of [subscriptions, queued, outgoing, incoming])
    for (const record of records) await writer.add({ change: 'put', record })
  await writer.add({ change: 'put', record: session })
}

/** Groups changes into commits, in their order. */
class CommitWriter {
  readonly #store: Store
  #changes: StoredChange[] = []
  #bytes = 0

  constructor(store: Store) {
    this.#store = store
  }

  async add(change: StoredChange): Promise<void> {
    this.#changes.push(change)
    if (change.change === 'put') this.#bytes += countPayloadBytes(change.record)
    if (this.#changes.length >= maxChangesPerCommit || this.#bytes >= maxBytesPerCommit) await this.flush()
  }

  async flush(): Promise<void> {
    const changes = this.#changes
    this.#changes = []
    this.#bytes = 0
    if (changes.length > 0) await this.#store.commit(changes)
  }
}

function countPayloadBytes(record: StoredRecord): number {
  return record.kind === 'queued' && typeof record.message === 'object' ? record.message.payload.length : 0
}
