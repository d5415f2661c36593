import { randomBytes } from 'node:crypto'
import { shardOf } from '../core/index.ts'
import type { ShardListener } from '../shard/index.ts'
import type { ListenerAddress } from './listener-addresses.ts'
import { placesFor } from './shared-places.ts'

const ticketSecretBytes = 32

/**
 * The listeners, the same for each shard. The kernel deals connections out evenly, so each is given the same part of a rate.
 * A QUIC listener is the exception: its socket sees the packets of all of its clients, so one shard has it, and all of it.
 */
export function shardListeners(listeners: readonly ListenerAddress[], shards: number): readonly ShardListener[] {
  return listeners.map((listener) => toShardListener(listener, shards))
}

function toShardListener(listener: ListenerAddress, shards: number): ShardListener {
  const sharing = listener.kind === 'quic' ? 1 : shards
  const { maxConnectionRate } = listener
  return {
    ...listener,
    onlyOnShard: listener.kind === 'quic' ? shardOf(listener.name, shards) : undefined,
    sharesPort: sharing > 1,
    places: placesFor(sharing),
    maxConnectionRate: maxConnectionRate === undefined ? undefined : maxConnectionRate / sharing,
    ...('tls' in listener ? { ticketSecret: randomBytes(ticketSecretBytes) } : {}),
  }
}
