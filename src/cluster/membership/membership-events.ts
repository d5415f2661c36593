// What the membership of a node receives, and what it decides.

import type { Life } from '../peer-name.ts'
import type { Lease } from './lease.ts'
import type { StopReason } from './home-table.ts'
import type { MembershipTransaction, NodeDescription, ShardVersion } from './membership-actions.ts'
import type { MembershipRows, NodeRow } from './membership-rows.ts'
import type { DatabaseServer, NodeHeartbeat } from './node-heartbeat.ts'

export interface MembershipOptions extends NodeDescription {
  readonly life: Life
  /** Without a lease for longer, while another node has one, clients are disconnected. */
  readonly isolationTimeoutMs: number
  readonly maxClockSkewMs: number
}

export type MembershipCommand =
  | { readonly kind: 'evacuate'; readonly node: string; readonly isEvacuated: boolean }
  | { readonly kind: 'expire'; readonly life: Life }
  | { readonly kind: 'rebalance' }
  | { readonly kind: 'accept-loss'; readonly shard: number }

export type MembershipInput =
  /** At least every 200 ms. */
  | { readonly kind: 'tick' }
  | { readonly kind: 'connected'; readonly attempt: number; readonly server: DatabaseServer }
  | { readonly kind: 'confirmed'; readonly attempt: number; readonly rows: MembershipRows }
  /** The connection could not be opened or was lost, or a transaction has failed or ended with a warning. */
  | { readonly kind: 'disconnected'; readonly attempt: number; readonly reason: string }
  | { readonly kind: 'heartbeat'; readonly heartbeat: NodeHeartbeat }
  /** The data connection to another life. */
  | { readonly kind: 'link'; readonly life: Life; readonly isOpen: boolean }
  | ({ readonly kind: 'home-restored' } & ShardVersion)
  | ({ readonly kind: 'home-failed' } & ShardVersion)
  | ({ readonly kind: 'home-stopped' } & ShardVersion)
  | { readonly kind: 'command'; readonly id: number; readonly command: MembershipCommand }
  /** Gives all shards to other nodes and ends the own life. */
  | { readonly kind: 'stop' }

export type MembershipOutput =
  /** Closes the connection of the attempt before, and opens one to a server that accepts writes. */
  | { readonly kind: 'connect'; readonly attempt: number }
  | { readonly kind: 'disconnect' }
  | { readonly kind: 'run'; readonly transaction: MembershipTransaction }
  | { readonly kind: 'lease'; readonly lease: Lease | undefined }
  | { readonly kind: 'life-joined'; readonly node: NodeRow }
  /** Nothing that this life sends takes effect any more. */
  | { readonly kind: 'life-ended'; readonly life: Life }
  /** The home of a shard; `life` is undefined while there is none. */
  | ({ readonly kind: 'home'; readonly life: Life | undefined } & ShardVersion)
  | ({ readonly kind: 'start-home' } & ShardVersion)
  | ({ readonly kind: 'stop-home'; readonly reason: StopReason } & ShardVersion)
  /** The rows have changed: heartbeats are sent at once, so that other nodes read them. */
  | { readonly kind: 'send-heartbeats' }
  /** Disconnects all clients with 0x88 and refuses new ones, until there is a lease again. */
  | { readonly kind: 'close-clients' }
  | { readonly kind: 'command-done'; readonly id: number; readonly problem: string | undefined }
  /** The own life is over: the process must end. Undefined: as requested by `stop`. */
  | { readonly kind: 'own-life-ended'; readonly reason: string | undefined }
