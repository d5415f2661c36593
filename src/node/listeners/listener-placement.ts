import { randomBytes } from 'node:crypto'
import { computeOwnerShard } from '../../core/index.ts'
import type { ShardListener } from '../../shard/index.ts'
import { createListenerTable } from '../../telemetry/index.ts'
import { createSharedSlots, isSocketPath } from '../../transports/index.ts'
import type { ListenerAddress } from './listener-addresses.ts'

const ticketSecretBytes = 32

/** With this, one shard may also open a port several times, and accepts clients faster. */
const kernelDealsOut = process.platform === 'linux'

/**
 * Properties that stay when the settings of a listener change, so that connections stay counted and tickets stay valid.
 */
type Lasting = Pick<ShardListener, 'number' | 'connectionSlots' | 'counts' | 'ticketSecret'>

/** Creates the listener for all shards. `number` must be new. */
export function placeListener(listener: ListenerAddress, shards: number, number: number): ShardListener {
  const lasting = {
    number,
    connectionSlots: createSharedSlots(shards),
    counts: createListenerTable(shards),
    ...('tls' in listener ? { ticketSecret: randomBytes(ticketSecretBytes) } : {}),
  }
  return toShardListener(listener, shards, lasting)
}

/** Returns the same listener with other settings. */
export function replaceListeners(listener: ListenerAddress, shards: number, before: ShardListener): ShardListener {
  const { number, connectionSlots, counts, ticketSecret } = before
  return toShardListener(listener, shards, { number, connectionSlots, counts, ...(ticketSecret && { ticketSecret }) })
}

/**
 * The kernel distributes connections evenly, so each shard has the same part of a rate. The socket of a QUIC listener
 * gets the packets of all of its clients, so one shard has it, with the whole rate. The same applies to a Unix socket.
 */
function toShardListener(listener: ListenerAddress, shards: number, lasting: Lasting): ShardListener {
  const onlyOnShard = isSocketPath(listener.host)
    ? 0
    : listener.kind === 'quic'
      ? computeOwnerShard(listener.name, shards)
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
