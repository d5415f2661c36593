// The node's access records: credentials, rules, bans, accounts. Only the main thread writes them; each shard reads them when it starts,
// and gets every change from then on.
//
//   change ──► durable ──► in memory ──► sent to every shard ──► resolves when each has applied it
//
// Changes run one after the other: the shards get them in the order of the requests. A shard that fails meanwhile reads the disk when it
// restarts, and the disk is ahead of the messages.
//
// Each list keeps the order in which its records were added, also over a restart:
//
//   credential username           alice, bob, carol ...      from the oldest on
//   credential username plant     alice ...                  those of a namespace
//   rule all                      ...
//
// Accounts of the management API are in the same records, and are not sent to the shards, which do not need them.

import type {
  AccessRecord,
  AccessRecordKey,
  CredentialRecord,
  GatewayUserRecord,
  NamespaceRecord,
  AdminRecord,
  AdminRecordKey,
  RuleRecord,
  StoredChange,
} from '../../records/index.ts'
import { accessKinds, adminKinds, StorageFailure, type Store } from '../../storage/index.ts'

/** All kinds of records. */
export type NodeRecord = AccessRecord | AdminRecord
export type NodeRecordKey = AccessRecordKey | AdminRecordKey

export interface NodeRecordChange {
  readonly put: readonly NodeRecord[]
  readonly delete: readonly NodeRecordKey[]
}

/** The part of a change that shards get. */
export interface AccessChange {
  readonly put: readonly AccessRecord[]
  readonly delete: readonly AccessRecordKey[]
}

export interface AccessRecordsDependencies {
  readonly store: Store
  /** Sends a change to the shards. Resolves when every running shard has applied it. */
  sendToShards(change: AccessChange): Promise<void>
  /** Called when a namespace was created, changed or deleted, and for each namespace at the start. `record` undefined: deleted. */
  onNamespace?(name: string, record: NamespaceRecord | undefined): void
}

/** Reads the stored records. Throws StorageFailure. */
export async function openAccessRecords(dependencies: AccessRecordsDependencies): Promise<AccessRecords> {
  const found: NodeRecord[] = []
  for (const kind of [...accessKinds, ...adminKinds]) {
    for await (const record of dependencies.store.read({ kind })) if (record.kind === kind) found.push(record)
  }
  found.sort((a, b) => findMomentMs(a) - findMomentMs(b))
  return new AccessRecords(dependencies, found)
}

/** Name of a list of records: of one kind, and for some kinds of one type of subject. Each namespace has lists of its own. */
export type AccessListName =
  | `credential ${CredentialRecord['by']}`
  | `rule ${RuleRecord['about']}`
  | Extract<NodeRecord['kind'], 'scram' | 'psk' | 'ban' | AdminRecord['kind']>

/** The records of a list. */
export type RecordIn<Name extends AccessListName> = Extract<
  NodeRecord,
  { kind: Name extends `${infer Kind} ${string}` ? Kind : Name }
>

/** Minimum difference of two times: finer than the clock, so that each record has its own time. */
const smallestStepMs = 1 / 1_024

export class AccessRecords {
  readonly #dependencies: AccessRecordsDependencies
  /** The lists by their names. Each keeps the order in which its records were added. */
  readonly #lists = new Map<string, Map<string, NodeRecord>>()
  #lastMomentMs: number
  /** A change that the disk did not confirm. It is written again before any other change. */
  #unconfirmed: NodeRecordChange | undefined
  #last: Promise<void>

  constructor(dependencies: AccessRecordsDependencies, found: readonly NodeRecord[]) {
    this.#dependencies = dependencies
    this.#unconfirmed = undefined
    this.#last = Promise.resolve()
    this.#lastMomentMs = 0
    for (const record of found) this.#put(record)
  }

  find<Key extends NodeRecordKey>(key: Key): Extract<NodeRecord, { kind: Key['kind'] }> | undefined {
    return this.#lists.get(formatListName(key))?.get(formatRecordName(key)) as
      | Extract<NodeRecord, { kind: Key['kind'] }>
      | undefined
  }

  /** Returns all records of one kind, list after list. */
  *listAll<Kind extends NodeRecord['kind']>(kind: Kind): Generator<Extract<NodeRecord, { kind: Kind }>> {
    for (const list of this.#lists.values()) {
      for (const record of list.values()) {
        if (record.kind === kind) yield record as Extract<NodeRecord, { kind: Kind }>
      }
    }
  }

  /**
   * Returns one list, oldest first. It may be read in parts: records added meanwhile come at the end, deleted ones are
   * omitted.
   */
  list<Name extends AccessListName>(name: Name, namespace?: string): Iterable<RecordIn<Name>> {
    return (this.#lists.get(formatNamespacedName(name, namespace))?.values() ?? []) as Iterable<RecordIn<Name>>
  }

  /** Returns users of a gateway or of one of its listeners, the oldest first. */
  listGatewayUsers(chain: string): Iterable<GatewayUserRecord> {
    return (this.#lists.get(`gateway-user ${chain}`)?.values() ?? []) as Iterable<GatewayUserRecord>
  }

  /** Returns the time for a new record: later than each before it, so that the order survives a restart. */
  createMomentMs(): number {
    this.#lastMomentMs = Math.max(Date.now(), this.#lastMomentMs + smallestStepMs)
    return this.#lastMomentMs
  }

  /**
   * Deletes records and puts others, all or none. Resolves when the change is durable and applied on every shard.
   * Rejects with StorageFailure if the disk fails: then the change is not applied now, but may be applied later.
   */
  change(change: NodeRecordChange): Promise<void> {
    return this.decide(() => change)
  }

  /** Does the same with a change that is computed when its turn comes, from the records at that time. */
  decide(plan: () => NodeRecordChange): Promise<void> {
    const done = this.#last.then(() => this.#carryOut(plan))
    this.#last = done.catch(() => {
      // The caller gets the error; the next change is independent.
    })
    return done
  }

  async #carryOut(plan: () => NodeRecordChange): Promise<void> {
    if (this.#unconfirmed !== undefined) await this.#settle(this.#unconfirmed)
    const change = plan()
    if (change.put.length === 0 && change.delete.length === 0) return
    try {
      await this.#dependencies.store.commit(toStoredChanges(change))
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error
      this.#unconfirmed = change
      await this.#settle(change)
      return
    }
    await this.#distribute(change)
  }

  /** Writes an unconfirmed change again and applies it. */
  async #settle(change: NodeRecordChange): Promise<void> {
    await this.#dependencies.store.reopen()
    await this.#dependencies.store.commit(toStoredChanges(change))
    this.#unconfirmed = undefined
    await this.#distribute(change)
  }

  async #distribute(change: NodeRecordChange): Promise<void> {
    for (const key of change.delete) {
      this.#lists.get(formatListName(key))?.delete(formatRecordName(key))
      if (key.kind === 'namespace') this.#dependencies.onNamespace?.(key.name, undefined)
    }
    for (const record of change.put) this.#put(record)
    const forShards = { put: change.put.filter(isForShards), delete: change.delete.filter(isForShards) }
    if (forShards.put.length + forShards.delete.length > 0) await this.#dependencies.sendToShards(forShards)
  }

  #put(record: NodeRecord): void {
    this.#ensureList(formatListName(record)).set(formatRecordName(record), record)
    if (record.kind === 'namespace') this.#dependencies.onNamespace?.(record.name, record)
    if ('createdAtMs' in record) this.#lastMomentMs = Math.max(this.#lastMomentMs, record.createdAtMs)
  }

  #ensureList(name: string): Map<string, NodeRecord> {
    let list = this.#lists.get(name)
    if (list === undefined) {
      list = new Map()
      this.#lists.set(name, list)
    }
    return list
  }
}

/** Returns the time of a record, if it has one. */
function findMomentMs(record: NodeRecord): number {
  return 'createdAtMs' in record ? record.createdAtMs : 'atMs' in record ? record.atMs : 0
}

/** Returns the list of a record. */
function formatListName(key: NodeRecord | NodeRecordKey): string {
  switch (key.kind) {
    case 'credential':
      return formatNamespacedName(`credential ${key.by}`, key.namespace)
    case 'gateway-user':
      return `gateway-user ${key.chain}`
    case 'rule':
      return formatNamespacedName(`rule ${key.about}`, key.namespace)
    case 'scram':
    case 'psk':
    case 'ban':
      return formatNamespacedName(key.kind, key.namespace)
    case 'account':
    case 'api-key':
    case 'namespace':
      return key.kind
    default:
      return key satisfies never
  }
}

function formatNamespacedName(name: AccessListName, namespace: string | undefined): string {
  return namespace === undefined ? name : `${name} ${namespace}`
}

function isForShards<Known extends { readonly kind: NodeRecord['kind'] }>(
  known: Known,
): known is Exclude<Known, { kind: AdminRecord['kind'] }> {
  return known.kind !== 'account' && known.kind !== 'api-key' && known.kind !== 'namespace'
}

function toStoredChanges(change: NodeRecordChange): StoredChange[] {
  return [
    ...change.delete.map((key): StoredChange => ({ change: 'delete', key })),
    ...change.put.map((record): StoredChange => ({ change: 'put', record })),
  ]
}

/** Returns the key of a record within its list. */
function formatRecordName(key: NodeRecord | NodeRecordKey): string {
  switch (key.kind) {
    case 'credential':
    case 'gateway-user':
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
