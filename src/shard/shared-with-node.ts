// What a core shares with the whole node, and not with its shard alone: namespaces and their quotas, counters of the other
// shards, and the name of the broker.

import type { BrokerOptions } from '../core/index.ts'
import type { ShardStart } from './messages/messages.ts'
import { retainedOnPeersOf } from './observe/shard-counters.ts'
import { NamespaceTable } from './runtime/namespace-table.ts'

type SharedOptions = Pick<BrokerOptions, 'namespaces' | 'quotas' | 'retainedOnPeers' | 'brokerName'>

/** `own` and `count`: the number of the shard, and how many the node has. */
export function sharedWithNode(start: ShardStart, { own, count }: { own: number; count: number }): SharedOptions {
  const { namespaces, namespaceTable: table, brokerName } = start
  return {
    namespaces,
    quotas: table && new NamespaceTable(table, { shards: count, own }),
    retainedOnPeers: retainedOnPeersOf(start),
    brokerName,
  }
}
