// What gateways need of their shard.

import type { AlarmName, Log } from '../../telemetry/index.ts'
import type { ByteStream, ConnectionLimit } from '../../transports/index.ts'
import type { OpenListener } from '../listeners/listener-factory.ts'
import type { ShardListener } from '../messages/messages.ts'
import type { OpenRelay } from './datagram-links.ts'
import type { StoredValue } from './stored-names.ts'

export interface GatewayManagerDependencies {
  readonly own: number
  readonly shards: number
  readonly log: Log
  /** Passes a stream to another shard. Returns false if that shard is not running. */
  readonly openRelay: OpenRelay
  nowMs(): number
  /** Opens a socket that accepts connections. */
  openListener(listener: ShardListener, accept: (stream: ByteStream) => void): Promise<OpenListener>
  /** Returns a pre-shared key that is stored in the broker. */
  storedKey(identity: string, listener: ShardListener): Uint8Array | undefined
  /** Accepts a client of this listener. */
  accept(stream: ByteStream, listener: ShardListener): void
  /** Limit of all connections of the node, which also counts gateway clients. */
  readonly connections: ConnectionLimit
  /** Stores values of gateways, all or none of them. */
  storeValues(values: readonly StoredValue[]): void
  /** Calls `done` when all stored values are durable. Not called if the disk fails. */
  runWhenDurable(done: () => void): void
  readStoredValues(prefix: string): AsyncIterable<{ readonly name: string; readonly value: string }>
  /** Whether a ban of this address, or of a range that contains it, is in force. */
  isBanned(address: string): boolean
  raiseAlarm(name: AlarmName, message: string): void
  endAlarm(name: AlarmName, message: string): void
  fail(error: unknown): void
}
