// Clients and subscriptions that a request can name, on all shards.

import {
  type CachedAuthorization,
  type ClientFilter,
  type ClientView,
  computeOwnerShard,
  type SubscriptionFilter,
  type SubscriptionView,
} from '../../core/index.ts'
import {
  beginning,
  type ListPosition,
  type ListSlice,
  type RowsWanted,
  type ShardUnavailable,
} from '../../management/index.ts'
import { type QueryableShards, queryShard } from '../../node/index.ts'
import type { TopicFilter } from '../../protocol/index.ts'
import type { ClientCommand, ClientRates, QueryOf, QueryResult } from '../../shard/index.ts'
import type { Names } from '../context/names.ts'

export interface ClientDependencies {
  readonly nodeName: string
  readonly supervisor: QueryableShards
  readonly names: Names
}

/** No subscription has a filter that is too long with the prefix of the namespace. */
const noFilter = ''

/** Methods that concern a connected client return false if it is not connected. */
export class ClientQueries {
  readonly nodeName: string
  readonly #supervisor: QueryableShards
  readonly #names: Names

  constructor({ nodeName, supervisor, names }: ClientDependencies) {
    this.nodeName = nodeName
    this.#supervisor = supervisor
    this.#names = names
  }

  async listClients(filter: ClientFilter, range: RowsWanted): Promise<ListSlice<ClientView> | ShardUnavailable> {
    const scoped = this.#scopeFilter(filter)
    const { at, shards } = selectSpan(this.#supervisor, scoped.clientId, range)
    if (at.shard >= shards) return nothingMore
    const query = { kind: 'list-clients', filter: scoped, ...range, from: toShardPosition(at) } as const
    return continueSlice(await queryShard(this.#supervisor, at.shard, query), at, shards)
  }

  /** Returns the first `maxRows` clients in an order, and the number of those that match. */
  async listRankedClients(
    filter: ClientFilter,
    order: Pick<QueryOf<'ranked-clients'>, 'by' | 'isDescending' | 'maxRows'>,
  ): Promise<{ readonly rows: readonly ClientView[]; readonly count: number } | ShardUnavailable> {
    const scoped = this.#scopeFilter(filter)
    const shards = Array.from({ length: this.#supervisor.size }, (_, shard) => shard)
    const parts = await Promise.all(
      shards.map((shard) => queryShard(this.#supervisor, shard, { kind: 'ranked-clients', filter: scoped, ...order })),
    )
    const found: QueryResult<'ranked-clients'>['rows'][number][] = []
    let count = 0
    for (const part of parts) {
      if ('unavailableShard' in part) return part
      found.push(...part.rows)
      count += part.count
    }
    found.sort((a, b) => (order.isDescending ? b.value - a.value : a.value - b.value))
    return { rows: found.slice(0, order.maxRows).map(({ client }) => client), count }
  }

  /** Measures the traffic of connected clients. Shards that are restarting have none. */
  async listBusyClients(
    query: Pick<QueryOf<'busy-clients'>, 'by' | 'measuredMs' | 'maxRows'>,
  ): Promise<readonly ClientRates[]> {
    const { namespace } = this.#names
    const parts = await Promise.all(
      Array.from({ length: this.#supervisor.size }, (_, shard) =>
        this.#supervisor.query(shard, { kind: 'busy-clients', namespace, ...query }),
      ),
    )
    return parts
      .flatMap((part) => part ?? [])
      .toSorted((a, b) => b[query.by] - a[query.by])
      .slice(0, query.maxRows)
  }

  async listSubscriptions(
    filter: SubscriptionFilter,
    range: RowsWanted,
  ): Promise<ListSlice<SubscriptionView> | ShardUnavailable> {
    const scoped = {
      ...this.#scopeFilter(filter),
      filter: this.#mount(filter.filter),
      bareFilter: this.#mount(filter.bareFilter),
      matching: this.#mount(filter.matching),
    }
    const { at, shards } = selectSpan(this.#supervisor, scoped.clientId, range)
    if (at.shard >= shards) return nothingMore
    const query = { kind: 'list-subscriptions', filter: scoped, ...range, from: toShardPosition(at) } as const
    const slice = continueSlice(await queryShard(this.#supervisor, at.shard, query), at, shards)
    if ('unavailableShard' in slice || this.#names.namespace === undefined) return slice
    return { ...slice, rows: slice.rows.map((row) => ({ ...row, filter: this.#names.unmountFilter(row.filter) })) }
  }

  /** Returns the number of clients, connected or not. */
  countClients(): Promise<number | ShardUnavailable> {
    return this.#names.namespace === undefined ? countSessions(this.#supervisor) : this.#countByList()
  }

  async #countByList(): Promise<number | ShardUnavailable> {
    let count = 0
    for (let from: ListPosition | undefined = beginning; from !== undefined;) {
      const slice: ListSlice<ClientView> | ShardUnavailable = await this.listClients({}, { from, skip: 0, maxRows: 0 })
      if ('unavailableShard' in slice) return slice
      count += slice.passed
      from = slice.next
    }
    return count
  }

  /** `endsSession`: the session ends as well, also if its client is not connected. */
  kickOutClient(clientId: string, endsSession: boolean): Promise<boolean | ShardUnavailable> {
    return this.#change({ name: 'kick', clientId: this.#names.toSessionName(clientId), endsSession })
  }

  setKeepAlive(clientId: string, seconds: number): Promise<boolean | ShardUnavailable> {
    return this.#change({ name: 'keep-alive', clientId: this.#names.toSessionName(clientId), seconds })
  }

  clearAuthorizationCache(clientId: string): Promise<boolean | ShardUnavailable> {
    return this.#change({ name: 'clear-authorization-cache', clientId: this.#names.toSessionName(clientId) })
  }

  /** Returns the cached permissions to publish. */
  async listCachedAuthorizations(clientId: string): Promise<readonly CachedAuthorization[] | false | ShardUnavailable> {
    const query = { kind: 'cached-authorizations', clientId: this.#names.toSessionName(clientId) } as const
    const response = await queryShard(this.#supervisor, this.#findOwner(query.clientId), query)
    return 'unavailableShard' in response ? response : (response.found ?? false)
  }

  #change(command: ClientCommand): Promise<boolean | ShardUnavailable> {
    return queryShard(this.#supervisor, this.#findOwner(command.clientId), { kind: 'change-client', command })
  }

  #findOwner(session: string): number {
    return computeOwnerShard(session, this.#supervisor.size)
  }

  /** The whole broker keeps the namespace of the filter, if it has one. */
  #scopeFilter<Filter extends { readonly clientId?: string | undefined; readonly namespace?: string | undefined }>(
    filter: Filter,
  ): Filter {
    const { namespace } = this.#names
    if (namespace === undefined) return filter
    const clientId = filter.clientId === undefined ? undefined : this.#names.toSessionName(filter.clientId)
    return { ...filter, namespace, clientId }
  }

  #mount(filter: string | undefined): string | undefined {
    return filter === undefined ? undefined : (this.#names.mountFilter(filter as TopicFilter) ?? noFilter)
  }
}

/** For an invalid position. */
const nothingMore = { rows: [], passed: 0, next: undefined } as const

interface Span {
  readonly at: ListPosition
  /** The list ends before this shard. */
  readonly shards: number
}

/** A query for one client goes to its shard, others to all. */
function selectSpan(supervisor: QueryableShards, clientId: string | undefined, { from }: RowsWanted): Span {
  if (clientId === undefined) return { at: from, shards: supervisor.size }
  const shard = computeOwnerShard(clientId, supervisor.size)
  return { at: { ...from, shard }, shards: shard + 1 }
}

function toShardPosition({ place, offset }: ListPosition): { place: number; offset: number } {
  return { place, offset }
}

type AnySlice<Row> = Omit<QueryResult<'list-clients'>, 'rows'> & { readonly rows: readonly Row[] }

function continueSlice<Row>(
  slice: AnySlice<Row> | ShardUnavailable,
  { shard }: ListPosition,
  shards: number,
): ListSlice<Row> | ShardUnavailable {
  if ('unavailableShard' in slice) return slice
  const { rows, passed, next } = slice
  if (next !== undefined) return { rows, passed, next: { ...next, shard } }
  return { rows, passed, next: shard + 1 < shards ? { shard: shard + 1, place: 0, offset: 0 } : undefined }
}

async function countSessions(supervisor: QueryableShards): Promise<number | ShardUnavailable> {
  const shards = Array.from({ length: supervisor.size }, (_, shard) => shard)
  const counts = await Promise.all(shards.map((shard) => queryShard(supervisor, shard, { kind: 'session-count' })))
  let sum = 0
  for (const count of counts) {
    if (typeof count !== 'number') return count
    sum += count
  }
  return sum
}
