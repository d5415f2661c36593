// The node's book of who may come in and what they may do. The main thread alone writes these records; each shard reads
// them when it starts, and is told of every change from then on.
//
//   change ──► on disk ──► in the book ──► told to every shard ──► resolves when each has it in force
//
// Changes go one after the other: the shards see them in the order in which they were asked for. A shard that dies
// meanwhile reads the disk when it is started again, and the disk is ahead of what is told.

import type { AccessRecord, AccessRecordKey, StoredChange } from '../core/index.ts'
import { accessKinds, StorageFailure, type Store } from '../storage/index.ts'

export interface AccessChange {
  readonly put: readonly AccessRecord[]
  readonly delete: readonly AccessRecordKey[]
}

export interface AccessRecordsWorld {
  readonly store: Store
  /** Resolves when every shard that runs has the change in force. */
  tell(change: AccessChange): Promise<void>
}

/** Reads what is stored. Throws StorageFailure. */
export async function openAccessRecords(world: AccessRecordsWorld): Promise<AccessRecords> {
  const found: AccessRecord[] = []
  for (const kind of accessKinds) {
    for await (const record of world.store.read({ kind })) if (record.kind === kind) found.push(record)
  }
  return new AccessRecords(world, found)
}

export class AccessRecords {
  readonly #world: AccessRecordsWorld
  readonly #records = new Map<string, AccessRecord>()
  /** Written, but the disk did not say whether it has it: it is written again before anything else is. */
  #unsettled: AccessChange | undefined
  #last: Promise<void>

  constructor(world: AccessRecordsWorld, found: readonly AccessRecord[]) {
    this.#world = world
    this.#unsettled = undefined
    this.#last = Promise.resolve()
    for (const record of found) this.#records.set(nameOf(record), record)
  }

  find(key: AccessRecordKey): AccessRecord | undefined {
    return this.#records.get(nameOf(key))
  }

  /** All of one kind, in no order. */
  *all<Kind extends AccessRecord['kind']>(kind: Kind): Generator<Extract<AccessRecord, { kind: Kind }>> {
    for (const record of this.#records.values()) {
      if (record.kind === kind) yield record as Extract<AccessRecord, { kind: Kind }>
    }
  }

  /**
   * Takes records away, puts others in place, all of it or nothing. Resolves when it is on disk and in force on every
   * shard. Rejects with StorageFailure where the disk fails: then it holds not yet, but may hold later.
   */
  change(change: AccessChange): Promise<void> {
    const done = this.#last.then(() => this.#carryOut(change))
    this.#last = done.catch(() => {
      // Whoever asked for it is told; the next change is tried by itself.
    })
    return done
  }

  async #carryOut(change: AccessChange): Promise<void> {
    if (this.#unsettled !== undefined) await this.#settle(this.#unsettled)
    try {
      await this.#world.store.commit(storedChanges(change))
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error
      this.#unsettled = change
      await this.#settle(change)
      return
    }
    await this.#spread(change)
  }

  /** What may be on disk or not must get there before anything that comes after it. */
  async #settle(change: AccessChange): Promise<void> {
    await this.#world.store.reopen()
    await this.#world.store.commit(storedChanges(change))
    this.#unsettled = undefined
    await this.#spread(change)
  }

  async #spread(change: AccessChange): Promise<void> {
    for (const key of change.delete) this.#records.delete(nameOf(key))
    for (const record of change.put) this.#records.set(nameOf(record), record)
    await this.#world.tell(change)
  }
}

function storedChanges(change: AccessChange): StoredChange[] {
  return [
    ...change.delete.map((key): StoredChange => ({ change: 'delete', key })),
    ...change.put.map((record): StoredChange => ({ change: 'put', record })),
  ]
}

/** What makes it one record and not another. */
function nameOf(key: AccessRecord | AccessRecordKey): string {
  switch (key.kind) {
    case 'credential':
      return JSON.stringify([key.kind, key.by, key.id])
    case 'scram':
      return JSON.stringify([key.kind, key.username])
    case 'psk':
      return JSON.stringify([key.kind, key.identity])
    case 'rule':
      return JSON.stringify([key.kind, key.about, key.who, key.action, key.topic])
    case 'ban':
      return JSON.stringify([key.kind, key.as, key.who])
    default:
      return key satisfies never
  }
}
