import type {
  ClientFilter,
  ClientView,
  CachedAuthorization,
  SubscriptionFilter,
  SubscriptionView,
} from '../../core/index.ts'
import type { ListSlice, RowsWanted, ShardUnavailable } from '../lists/list-slice.ts'

/** Clients and subscriptions, for the API. */
export interface ClientOperations {
  readonly nodeName: string
  clients(filter: ClientFilter, wanted: RowsWanted): Promise<ListSlice<ClientView> | ShardUnavailable>
  subscriptions(filter: SubscriptionFilter, wanted: RowsWanted): Promise<ListSlice<SubscriptionView> | ShardUnavailable>
  /** Number of all clients, connected or not. */
  countClients(): Promise<number | ShardUnavailable>
  /** False: not connected; the same applies below. */
  /** `endsSession`: the session ends as well, also if its client is not connected. */
  kick(clientId: string, endsSession: boolean): Promise<boolean | ShardUnavailable>
  changeKeepAlive(clientId: string, seconds: number): Promise<boolean | ShardUnavailable>
  /** Cached permissions to publish. */
  cachedAuthorizations(clientId: string): Promise<readonly CachedAuthorization[] | false | ShardUnavailable>
  clearAuthorizationCache(clientId: string): Promise<boolean | ShardUnavailable>
}
