// What a node knows of the cluster: the other live nodes, and the home of each stored shard.

import type { Life } from '../../cluster/index.ts'
import type { OtherNode } from '../../links/index.ts'

export interface ShardHome {
  readonly life: Life
  /** Grows with each new home. */
  readonly epoch: number
}

export interface ClusterView {
  /** Nodes whose lives have not ended, except this one. */
  readonly others: readonly OtherNode[]
  /** By the number of the stored shard; undefined: no home at present. */
  readonly homes: readonly (ShardHome | undefined)[]
}

/** The members of the cluster as this node knows them. */
export interface ClusterMembers {
  /** Of this node. */
  readonly life: Life
  readonly view: ClusterView
  /** Called after each change of the view. Set once. */
  onChange: (view: ClusterView) => void
}
