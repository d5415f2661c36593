// The node's book of who may come in and what they may do. The main thread alone writes these records; each shard reads
// them when it starts, and is told of every change from then on.
//
//   change ──► on disk ──► in the book ──► told to every shard ──► resolves when each has it in force
//
// Changes go one after the other: the shards see them in the order in which they were asked for. A shard that dies
// meanwhile reads the disk when it is started again, and the disk is ahead of what is told.
//
// Each list keeps the order in which its records came, also over a restart:
//
//   credential username           alice, bob, carol ...      walked from the oldest
//   credential username plant     alice ...                  those of a namespace
//   rule all                      ...
//
// Who may use the management API stands in the same book, and is not told to the shards: it is none of their business.

import type {
  AccessRecord,
  AccessRecordKey,
  CredentialRecord,
  NamespaceRecord,
  OperatorRecord,
  OperatorRecordKey,
  RuleRecord,
  StoredChange,
} from '../../records/index.ts'
import { accessKinds, adminKinds, StorageFailure, type Store } from '../../storage/index.ts'

/** What the book holds. */
export type NodeRecord = AccessRecord | OperatorRecord
export type NodeRecordKey = AccessRecordKey | OperatorRecordKey

export interface NodeRecordChange {
  readonly put: readonly NodeRecord[]
  readonly delete: readonly NodeRecordKey[]
}

/** The part of a change that shards hear of. */
export interface AccessChange {
  readonly put: readonly AccessRecord[]
  readonly delete: readonly AccessRecordKey[]
}

export interface AccessRecordsDependencies {
  readonly store: Store
  /** Resolves when every shard that runs has the change in force. */
  tell(change: AccessChange): Promise<void>
  /** A namespace is put in place, or taken away, or is there at the start. */
  noteNamespace?(name: string, record: NamespaceRecord | undefined): void
}

/** Reads what is stored. Throws StorageFailure. */
export async function openAccessRecords(world: AccessRecordsDependencies): Promise<AccessRecords> {
  const found: NodeRecord[] = []
  for (const kind of [...accessKinds, ...adminKinds]) {
    for await (const record of world.store.read({ kind })) if (record.kind === kind) found.push(record)
  }
  found.sort((a, b) => momentOf(a) - momentOf(b))
  return new AccessRecords(world, found)
}

/** Which list of records: all of one kind about one sort of name; each namespace has one of its own. */
export type AccessListName =
  | `credential ${CredentialRecord['by']}`
  | `rule ${RuleRecord['about']}`
  | Extract<NodeRecord['kind'], 'scram' | 'psk' | 'ban' | OperatorRecord['kind']>

/** What stands in a list. */
export type RecordIn<Name extends AccessListName> = Extract<
  NodeRecord,
  { kind: Name extends `${infer Kind} ${string}` ? Kind : Name }
>

/** What is taken for later than any moment before it: finer than the clock, so that each record has a moment of its own. */
const smallestStepMs = 1 / 1_024

export class AccessRecords {
  readonly #world: AccessRecordsDependencies
  /** A map keeps the order of putting. */
  readonly #lists = new Map<string, Map<string, NodeRecord>>()
  #lastMomentMs: number
  /** Written, but the disk did not say whether it has it: it is written again before anything else is. */
  #unconfirmed: NodeRecordChange | undefined
  #last: Promise<void>

  constructor(world: AccessRecordsDependencies, found: readonly NodeRecord[]) {
    this.#world = world
    this.#unconfirmed = undefined
    this.#last = Promise.resolve()
    this.#lastMomentMs = 0
    for (const record of found) this.#put(record)
  }

  find<Key extends NodeRecordKey>(key: Key): Extract<NodeRecord, { kind: Key['kind'] }> | undefined {
    return this.#lists.get(listOf(key))?.get(nameOf(key)) as Extract<NodeRecord, { kind: Key['kind'] }> | undefined
  }

  /** All of one kind, list after list. */
  *all<Kind extends NodeRecord['kind']>(kind: Kind): Generator<Extract<NodeRecord, { kind: Kind }>> {
    for (const list of this.#lists.values()) {
      for (const record of list.values()) {
        if (record.kind === kind) yield record as Extract<NodeRecord, { kind: Kind }>
      }
    }
  }

  /**
   * One list, the oldest first. May be walked in pieces: what is put meanwhile comes in the end, what is taken away is
   * left out.
   */
  list<Name extends AccessListName>(name: Name, namespace?: string): Iterable<RecordIn<Name>> {
    return (this.#lists.get(within(name, namespace))?.values() ?? []) as Iterable<RecordIn<Name>>
  }

  /** When a record that is made now was made: later than each before it, so that the order holds over a restart. */
  newMomentMs(): number {
    this.#lastMomentMs = Math.max(Date.now(), this.#lastMomentMs + smallestStepMs)
    return this.#lastMomentMs
  }

  /**
   * Takes records away, puts others in place, all of it or nothing. Resolves when it is on disk and in force on every
   * shard. Rejects with StorageFailure where the disk fails: then it holds not yet, but may hold later.
   */
  change(change: NodeRecordChange): Promise<void> {
    return this.decide(() => change)
  }

  /** The same, with a change that is made when its turn comes, of what is in the book then. */
  decide(plan: () => NodeRecordChange): Promise<void> {
    const done = this.#last.then(() => this.#carryOut(plan))
    this.#last = done.catch(() => {
      // Whoever asked for it is told; the next change is tried by itself.
    })
    return done
  }

  async #carryOut(plan: () => NodeRecordChange): Promise<void> {
    if (this.#unconfirmed !== undefined) await this.#settle(this.#unconfirmed)
    const change = plan()
    if (change.put.length === 0 && change.delete.length === 0) return
    try {
      await this.#world.store.commit(storedChanges(change))
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error
      this.#unconfirmed = change
      await this.#settle(change)
      return
    }
    await this.#distribute(change)
  }

  /** What may be on disk or not must get there before anything that comes after it. */
  async #settle(change: NodeRecordChange): Promise<void> {
    await this.#world.store.reopen()
    await this.#world.store.commit(storedChanges(change))
    this.#unconfirmed = undefined
    await this.#distribute(change)
  }

  async #distribute(change: NodeRecordChange): Promise<void> {
    for (const key of change.delete) {
      this.#lists.get(listOf(key))?.delete(nameOf(key))
      if (key.kind === 'namespace') this.#world.noteNamespace?.(key.name, undefined)
    }
    for (const record of change.put) this.#put(record)
    const told = { put: change.put.filter(isForShards), delete: change.delete.filter(isForShards) }
    if (told.put.length + told.delete.length > 0) await this.#world.tell(told)
  }

  #put(record: NodeRecord): void {
    this.#listOf(listOf(record)).set(nameOf(record), record)
    if (record.kind === 'namespace') this.#world.noteNamespace?.(record.name, record)
    if ('createdAtMs' in record) this.#lastMomentMs = Math.max(this.#lastMomentMs, record.createdAtMs)
  }

  #listOf(name: string): Map<string, NodeRecord> {
    let list = this.#lists.get(name)
    if (list === undefined) {
      list = new Map()
      this.#lists.set(name, list)
    }
    return list
  }
}

/** When a record was made, as far as it says so. */
function momentOf(record: NodeRecord): number {
  return 'createdAtMs' in record ? record.createdAtMs : 'atMs' in record ? record.atMs : 0
}

/** The list that a record stands in. */
function listOf(key: NodeRecord | NodeRecordKey): string {
  switch (key.kind) {
    case 'credential':
      return within(`credential ${key.by}`, key.namespace)
    case 'rule':
      return within(`rule ${key.about}`, key.namespace)
    case 'scram':
    case 'psk':
    case 'ban':
      return within(key.kind, key.namespace)
    case 'account':
    case 'api-key':
    case 'namespace':
      return key.kind
    default:
      return key satisfies never
  }
}

function within(name: AccessListName, namespace: string | undefined): string {
  return namespace === undefined ? name : `${name} ${namespace}`
}

function isForShards<Known extends { readonly kind: NodeRecord['kind'] }>(
  known: Known,
): known is Exclude<Known, { kind: OperatorRecord['kind'] }> {
  return known.kind !== 'account' && known.kind !== 'api-key' && known.kind !== 'namespace'
}

function storedChanges(change: NodeRecordChange): StoredChange[] {
  return [
    ...change.delete.map((key): StoredChange => ({ change: 'delete', key })),
    ...change.put.map((record): StoredChange => ({ change: 'put', record })),
  ]
}

/** What makes it one record and not another in its list. */
function nameOf(key: NodeRecord | NodeRecordKey): string {
  switch (key.kind) {
    case 'credential':
      return key.id
    case 'scram':
      return key.username
    case 'psk':
      return key.identity
    case 'rule':
      return JSON.stringify([key.who, key.action, key.topic])
    case 'ban':
      return JSON.stringify([key.as, key.who])
    case 'account':
    case 'namespace':
      return key.name
    case 'api-key':
      return key.id
    default:
      return key satisfies never
  }
}
