import { randomBytes } from 'node:crypto'
import type { ShardListener } from '../shard/index.ts'
import type { ListenerAddress } from './listener-addresses.ts'

const ticketSecretBytes = 32

/** Each shard's part of the listeners: the kernel deals connections out evenly, so each is given the same part of the rate. */
export function shardListeners(listeners: readonly ListenerAddress[], shards: number): readonly ShardListener[] {
  return listeners.map((listener) => {
    const { maxConnectionRate } = listener
    return {
      ...listener,
      sharesPort: shards > 1,
      maxConnectionRate: maxConnectionRate === undefined ? undefined : maxConnectionRate / shards,
      ...('tls' in listener ? { ticketSecret: randomBytes(ticketSecretBytes) } : {}),
    }
  })
}
