// Options of a core that come from the node: namespaces and their quotas, counters of the other shards, the name of the
// broker, and the engine of regular expressions.

import type { BrokerOptions } from '../core/index.ts'
import type { ShardStart } from './messages/messages.ts'
import { createRetainedOnPeersCounter } from './observe/shard-counters.ts'
import { createMatchRegex } from './runtime/match-regex.ts'
import { NamespaceTable } from './runtime/namespace-table.ts'

type SharedOptions = Pick<BrokerOptions, 'namespaces' | 'quotas' | 'countRetainedOnPeers' | 'brokerName' | 'matchRegex'>

/** `own` and `count`: the number of the shard, and the number of shards. */
export function createSharedOptions(start: ShardStart, { own, count }: { own: number; count: number }): SharedOptions {
  const { namespaces, namespaceTable: table, brokerName } = start
  return {
    namespaces,
    quotas: table && new NamespaceTable(table, { shards: count, own }),
    countRetainedOnPeers: createRetainedOnPeersCounter(start),
    brokerName,
    matchRegex: createMatchRegex(),
  }
}
