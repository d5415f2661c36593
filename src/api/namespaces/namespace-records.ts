// Namespaces in the records of the node, and what they contain on the shards.

import { hasRules } from '../../actions/index.ts'
import type { GodwitConfig } from '../../config/index.ts'
import { type CommandResult, toNamespacePrefix } from '../../core/index.ts'
import { ClientQueries } from '../clients/client-queries.ts'
import { wholeBroker } from '../context/names.ts'
import type { ListPosition, ShardUnavailable } from '../../management/index.ts'
import type { Requester } from '../control/control.ts'
import { parseTopicFilter } from '../../protocol/index.ts'
import type { AccessRecordKey, NamespaceRecord, AdminRecordKey } from '../../records/index.ts'
import type { Log } from '../../telemetry/index.ts'
import {
  type AccessRecords,
  type NodeRecordChange,
  maxNamespaces,
  type NamespaceLimitsInForce,
  type QueryableShards,
  queryShard,
} from '../../node/index.ts'
import { type NotStored, catchStorageFailure } from '../credentials/credential-lists.ts'

export interface NamespaceDependencies {
  readonly nodeName: string
  readonly accessRecords: AccessRecords
  readonly configuration: { readonly config: GodwitConfig }
  readonly namespaceLimits: Pick<NamespaceLimitsInForce, 'readCounts'>
  readonly supervisor: QueryableShards
  readonly log: Log
}

/** Limits of a namespace; undefined: those of `namespaces` in the configuration. */
export type NamespaceLimits = Readonly<NonNullable<NamespaceRecord['limits']>>

export interface Namespace {
  readonly name: string
  /** undefined: a listener or an account names it, and it was not created by the API. */
  readonly createdAtMs: number | undefined
  readonly limits: NamespaceLimits
  /** Connected clients. */
  readonly clients: number
  readonly retainedMessages: number
}

/** Counts of what was deleted with a namespace. */
export interface RemovedNamespace {
  readonly sessions: number
  readonly retainedMessages: number
}

const nothing: NodeRecordChange = { put: [], delete: [] }
const noLimits: NamespaceLimits = { clients: undefined, retainedMessages: undefined, messagesPerSecond: undefined }

function find({ accessRecords }: NamespaceDependencies, name: string): NamespaceRecord | undefined {
  return accessRecords.find({ kind: 'namespace', name })
}

function isFull({ accessRecords }: NamespaceDependencies): boolean {
  return [...accessRecords.list('namespace')].length >= maxNamespaces
}

function logChange({ log }: NamespaceDependencies, event: string, { name, address }: Requester): void {
  log.warn('namespaces changed', { what: event, by: name, address })
}

export function createNamespace(
  node: NamespaceDependencies,
  name: string,
  by: Requester,
): Promise<Namespace | 'exists' | 'too-many' | NotStored> {
  const { accessRecords: records } = node
  return catchStorageFailure(async () => {
    let outcome = 'exists' as Namespace | 'exists' | 'too-many'
    await records.decide(() => {
      if (find(node, name) !== undefined) return nothing
      if (isFull(node)) {
        outcome = 'too-many'
        return nothing
      }
      const made = { kind: 'namespace', name, createdAtMs: records.createMomentMs() } as const
      outcome = toNamespace(node, made)
      return { put: [made], delete: [] }
    })
    if (typeof outcome === 'object') logChange(node, `namespace ${name} made`, by)
    return outcome
  })
}

/** Absent limits are unchanged. */
export function changeLimits(
  node: NamespaceDependencies,
  name: string,
  changed: Partial<NamespaceLimits>,
  by: Requester,
): Promise<Namespace | 'missing' | 'too-many' | NotStored> {
  const { accessRecords: records } = node
  return catchStorageFailure(async () => {
    let outcome = 'missing' as Namespace | 'missing' | 'too-many'
    await records.decide(() => {
      const before = find(node, name)
      if (before === undefined && !listNamespaces(node).some((one) => one.name === name)) return nothing
      if (before === undefined && isFull(node)) {
        outcome = 'too-many'
        return nothing
      }
      const limits = { ...noLimits, ...before?.limits, ...changed }
      const createdAtMs = before?.createdAtMs ?? records.createMomentMs()
      const made = { kind: 'namespace', name, createdAtMs, limits } as const
      outcome = toNamespace(node, made)
      return { put: [made], delete: [] }
    })
    if (typeof outcome === 'object') logChange(node, `limits of the namespace ${name} changed`, by)
    return outcome
  })
}

/**
 * Removes the namespace with its credentials, rules, bans, clients, sessions and retained messages. `in-use`: an account or a listener
 * uses it. If a shard does not respond, something may remain.
 */
export function removeNamespace(
  node: NamespaceDependencies,
  name: string,
  by: Requester,
): Promise<RemovedNamespace | 'missing' | 'in-use' | NotStored | ShardUnavailable> {
  return catchStorageFailure(async () => {
    const known = await removeRecords(node, name)
    if (known === 'in-use') return known
    // The namespace itself is deleted last, so that an incomplete deletion can be repeated.
    const gone = await createEmptyNamespace(node, name)
    if ('unavailableShard' in gone || 'notStored' in gone) return gone
    const wasThere = find(node, name) !== undefined
    await node.accessRecords.change({ put: [], delete: wasThere ? [{ kind: 'namespace', name }] : [] })
    if (!wasThere && known === 'none' && gone.sessions + gone.retainedMessages === 0) return 'missing'
    logChange(node, `namespace ${name} deleted`, by)
    return gone
  })
}

/** Deletes credentials, rules and bans, so that no client can authenticate with them. */
async function removeRecords(dependencies: NamespaceDependencies, name: string): Promise<'some' | 'none' | 'in-use'> {
  const { accessRecords: records } = dependencies
  let outcome = 'in-use' as 'some' | 'none' | 'in-use'
  await records.decide(() => {
    if (isInUse(dependencies, name)) return nothing
    const keys = listKeys(records, name)
    outcome = keys.length === 0 ? 'none' : 'some'
    return { put: [], delete: keys }
  })
  return outcome
}

/** Sessions and retained messages in one query. */
const maxRowsPerQuery = 250
const beginning: ListPosition = { shard: 0, place: 0, offset: 0 }

async function createEmptyNamespace(
  { supervisor, nodeName }: NamespaceDependencies,
  namespace: string,
): Promise<RemovedNamespace | ShardUnavailable | { readonly notStored: string }> {
  const clients = new ClientQueries({ nodeName, supervisor, names: wholeBroker })
  let [sessions, retainedMessages] = [0, 0]
  for (let from: ListPosition | undefined = beginning; from !== undefined;) {
    const { shard }: ListPosition = from
    const slice: Awaited<ReturnType<ClientQueries['listClients']>> = await clients.listClients(
      { namespace },
      { from, skip: 0, maxRows: maxRowsPerQuery },
    )
    if ('unavailableShard' in slice) return slice
    // Only a will may be left of a client, so its shard is queried even without a session.
    const clientIds = slice.rows.map(({ clientId }) => clientId)
    const ended = toCount(await queryShard(supervisor, shard, { kind: 'end-sessions', namespace, clientIds }))
    if (typeof ended !== 'number') return ended
    sessions += ended
    from = slice.next
  }
  for (let shard = 0; shard < supervisor.size; shard++) {
    const forgotten = await clearRetained(supervisor, shard, namespace)
    if (typeof forgotten !== 'number') return forgotten
    retainedMessages += forgotten
  }
  return { sessions, retainedMessages }
}

async function clearRetained(
  supervisor: QueryableShards,
  shard: number,
  namespace: string,
): Promise<number | ShardUnavailable | { readonly notStored: string }> {
  const filter = parseTopicFilter(`${toNamespacePrefix(namespace)}#`)
  if (filter === undefined) return 0
  for (let sum = 0; ;) {
    const found = await queryShard(supervisor, shard, { kind: 'retained', filter, maxRows: maxRowsPerQuery })
    if ('unavailableShard' in found) return found
    if (found.length === 0) return sum
    const topics = found.map(({ topic }) => topic)
    const forgotten = toCount(await queryShard(supervisor, shard, { kind: 'forget-retained', topics }))
    if (typeof forgotten !== 'number') return forgotten
    // None of them existed any more: another request is deleting them.
    if (forgotten === 0) return sum
    sum += forgotten
  }
}

function toCount(result: CommandResult | ShardUnavailable): number | ShardUnavailable | { readonly notStored: string } {
  if ('unavailableShard' in result) return result
  return result.done ? result.matched : { notStored: 'the disk fails: the namespace is deleted in part; retry' }
}

/** By name. */
export function listNamespaces(dependencies: NamespaceDependencies): Namespace[] {
  const { accessRecords: records, configuration } = dependencies
  const found = new Map<string, Namespace>()
  for (const record of records.list('namespace')) found.set(record.name, toNamespace(dependencies, record))
  const named = [...records.list('account'), ...records.list('api-key'), ...configuration.config.listeners]
  for (const { namespace: name } of named) {
    if (name !== undefined && !found.has(name))
      found.set(name, toNamespace(dependencies, { name, createdAtMs: undefined }))
  }
  return [...found.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

function toNamespace(
  { namespaceLimits }: Pick<NamespaceDependencies, 'namespaceLimits'>,
  {
    name,
    createdAtMs,
    limits = noLimits,
  }: Pick<NamespaceRecord, 'name' | 'limits'> & { createdAtMs: number | undefined },
): Namespace {
  return { name, createdAtMs, limits, ...namespaceLimits.readCounts(name) }
}

function isInUse({ accessRecords: records, configuration }: NamespaceDependencies, name: string): boolean {
  const named = [...records.list('account'), ...records.list('api-key'), ...configuration.config.listeners]
  return named.some(({ namespace }) => namespace === name) || hasRules(configuration.config, name)
}

/** Keys of all records of the namespace, except its own record. */
function listKeys(records: AccessRecords, namespace: string): (AccessRecordKey | AdminRecordKey)[] {
  const keys: (AccessRecordKey | AdminRecordKey)[] = []
  for (const by of ['username', 'clientid'] as const)
    for (const { kind, id } of records.list(`credential ${by}`, namespace)) keys.push({ kind, namespace, by, id })
  for (const { kind, username } of records.list('scram', namespace)) keys.push({ kind, namespace, username })
  for (const { kind, identity } of records.list('psk', namespace)) keys.push({ kind, namespace, identity })
  for (const about of ['clientid', 'username', 'all'] as const)
    for (const { kind, who, topic, action } of records.list(`rule ${about}`, namespace))
      keys.push({ kind, namespace, about, who, topic, action })
  for (const { kind, as, who } of records.list('ban', namespace)) keys.push({ kind, namespace, as, who })
  return keys
}
