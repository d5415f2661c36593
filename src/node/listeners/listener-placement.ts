import { randomBytes } from 'node:crypto'
import { shardOf } from '../../core/index.ts'
import type { ShardListener } from '../../shard/index.ts'
import { createListenerTable } from '../../telemetry/index.ts'
import { createSharedSlots, isSocketPath } from '../../transports/index.ts'
import type { ListenerAddress } from './listener-addresses.ts'

const ticketSecretBytes = 32

/** One shard may then open a port several times, too, and takes clients faster for it. */
const kernelDealsOut = process.platform === 'linux'

/** What a listener keeps when its settings change, so that who is in stays counted and tickets stay good. */
type Lasting = Pick<ShardListener, 'number' | 'connectionSlots' | 'counts' | 'ticketSecret'>

/** A listener as shards are given it, the same for each. `number` is one that was never given before. */
export function placeListener(listener: ListenerAddress, shards: number, number: number): ShardListener {
  const lasting = {
    number,
    connectionSlots: createSharedSlots(shards),
    counts: createListenerTable(shards),
    ...('tls' in listener ? { ticketSecret: randomBytes(ticketSecretBytes) } : {}),
  }
  return toShardListener(listener, shards, lasting)
}

/** The same listener with other settings. */
export function replaceListeners(listener: ListenerAddress, shards: number, before: ShardListener): ShardListener {
  const { number, connectionSlots, counts, ticketSecret } = before
  return toShardListener(listener, shards, { number, connectionSlots, counts, ...(ticketSecret && { ticketSecret }) })
}

/**
 * The kernel deals connections out evenly, so each shard is given the same part of a rate. A QUIC listener is the exception:
 * its socket sees the packets of all of its clients, so one shard has it, and all of it. So it is with a Unix socket.
 */
function toShardListener(listener: ListenerAddress, shards: number, lasting: Lasting): ShardListener {
  const onlyOnShard = isSocketPath(listener.host)
    ? 0
    : listener.kind === 'quic'
      ? shardOf(listener.name, shards)
      : undefined
  const sharing = onlyOnShard === undefined ? shards : 1
  const { maxConnectionRate } = listener
  return {
    ...listener,
    ...lasting,
    onlyOnShard,
    sharesPort: onlyOnShard === undefined && (shards > 1 || kernelDealsOut),
    maxConnectionRate: maxConnectionRate === undefined ? undefined : maxConnectionRate / sharing,
  }
}
