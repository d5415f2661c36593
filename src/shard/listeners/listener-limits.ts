// Limits that all listeners of a shard share.

import { ConnectionLimit, ConnectionRate } from '../../transports/index.ts'
import type { ShardStart } from '../messages/messages.ts'
import type { ListenerDependencies } from './listener-factory.ts'

export interface ListenerLimits extends Pick<ListenerDependencies, 'budget' | 'rate'> {
  /** Limit of all connections. `budget` limits those that need a file descriptor; they count here as well. */
  readonly connections: ConnectionLimit
}

export function createListenerLimits({
  maxConnectionRate,
  maxConnections,
  connectionSlots,
  maxFileConnections = Number.POSITIVE_INFINITY,
  fileConnectionSlots,
  freeDescriptors,
  shardNumber: own,
}: ShardStart): ListenerLimits {
  const toSlots = (cells: SharedArrayBuffer | undefined) => cells !== undefined && { places: { cells, own } }
  const connections = new ConnectionLimit(maxConnections, { ...toSlots(connectionSlots) })
  const budget = new ConnectionLimit(maxFileConnections, {
    ...toSlots(fileConnectionSlots),
    ...(freeDescriptors !== undefined && { freeDescriptors }),
    parent: connections,
  })
  return { connections, budget, rate: new ConnectionRate(maxConnectionRate) }
}
