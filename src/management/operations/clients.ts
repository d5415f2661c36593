import type {
  ClientFilter,
  ClientView,
  CachedAuthorization,
  SubscriptionFilter,
  SubscriptionView,
} from '../../core/index.ts'
import type { ListSlice, RowsWanted, ShardUnavailable } from './lists.ts'

/** What the management asks about clients and what they subscribe to. */
export interface ClientOperations {
  readonly nodeName: string
  clients(filter: ClientFilter, wanted: RowsWanted): Promise<ListSlice<ClientView> | ShardUnavailable>
  subscriptions(filter: SubscriptionFilter, wanted: RowsWanted): Promise<ListSlice<SubscriptionView> | ShardUnavailable>
  /** Of all clients that are known, connected or not. */
  countClients(): Promise<number | ShardUnavailable>
  /** False: it is not connected, and so for those below. */
  /** `endsSession`: the session ends as well, also of a client that is not connected. */
  kick(clientId: string, endsSession: boolean): Promise<boolean | ShardUnavailable>
  changeKeepAlive(clientId: string, seconds: number): Promise<boolean | ShardUnavailable>
  /** What it was told about publishing, as far as that is remembered. */
  cachedAuthorizations(clientId: string): Promise<readonly CachedAuthorization[] | false | ShardUnavailable>
  clearAuthorizationCache(clientId: string): Promise<boolean | ShardUnavailable>
}
