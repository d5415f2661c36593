// What a node knows of the cluster: the other live nodes, and the home of each stored shard.

import type { Heartbeat, Life, MembershipCommand, MembershipFacts, ShardVersion } from '../../cluster/index.ts'
import type { OtherNode } from '../../links/index.ts'

export interface ShardHome {
  readonly life: Life
  /** Grows with each new home. */
  readonly epoch: number
}

export interface ClusterView {
  /** Nodes whose lives have not ended, except this one. */
  readonly others: readonly OtherNode[]
  /** By the number of the stored shard; undefined: no home at present. Of this node: it runs the shard, or starts it now. */
  readonly homes: readonly (ShardHome | undefined)[]
  /** Shards of this node of which another node may be the home already: they are not waited for when they stop. */
  readonly lost: ReadonlySet<number>
}

export interface ClusterEvents {
  /** Called after each change of the view. */
  onChange(view: ClusterView): void
  /** Heartbeats are sent now, and not only twice per second. */
  sendHeartbeats(): void
  /** This node is not a member any more, so its process ends. */
  onEnd(reason: string): void
}

/** `restored`: the shard runs. `failed`: its records ended its start. `stopped`: it does not run for another reason, or as required by the view. */
export type ShardReport = 'restored' | 'failed' | 'stopped'

/** The members of the cluster as this node knows them. */
export interface ClusterMembers {
  /** Of this node. */
  readonly life: Life
  readonly view: ClusterView
  /** See `LeaseCell`. Undefined: the members are fixed. */
  readonly lease: SharedArrayBuffer | undefined
  /** Joins the cluster. The databases have their tables, and other nodes can connect. */
  start(events: ClusterEvents): void
  report(report: ShardReport, shard: ShardVersion): void
  /** The data connection to another life was opened or has ended. */
  setLink(life: Life, isOpen: boolean): void
  /** Returns what another life is told twice per second. */
  createHeartbeat(life: Life): Heartbeat
  receiveHeartbeat(life: Life, heartbeat: Heartbeat): void
  /** Undefined: the members are fixed. */
  describe(): MembershipFacts | undefined
  /** Resolves with why the command is refused; undefined: it is done. */
  runCommand(command: MembershipCommand): Promise<string | undefined>
  /** Gives the shards of this node to others and ends its life. Resolves when that is done, or after `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>
}
