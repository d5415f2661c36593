// Limits of connections and failed logins apply to the whole node: its shards count them in shared memory.

import { freeLoginTable } from '../../access/index.ts'
import { freeAddressTable } from '../../gateways/index.ts'
import { NamespaceTable, type ShardStart } from '../../shard/index.ts'
import { createSharedSlots, freeSharedSlots } from '../../transports/index.ts'

/** Memory in which several shards count connections. */
export function createConnectionSlots(shards: number): SharedArrayBuffer | undefined {
  return shards > 1 ? createSharedSlots(shards) : undefined
}

/** Frees the slots and locks of a shard whose thread has ended, because its connections have ended with it. */
export function freeConnectionSlots({
  shardNumber,
  shards = 1,
  connectionSlots,
  fileConnectionSlots,
  listeners,
  namespaceTable,
  loginTable,
  gateways = [],
}: ShardStart): void {
  if (namespaceTable !== undefined) new NamespaceTable(namespaceTable, { shards }).freeShard(shardNumber)
  if (loginTable !== undefined) freeLoginTable(loginTable, shardNumber)
  for (const cells of [
    connectionSlots,
    fileConnectionSlots,
    ...listeners.map((listener) => listener.connectionSlots),
  ]) {
    if (cells !== undefined) freeSharedSlots({ cells, own: shardNumber })
  }
  for (const { addresses, listener } of gateways) {
    if (addresses !== undefined) freeAddressTable(addresses, shardNumber)
    if (listener.connectionSlots !== undefined) freeSharedSlots({ cells: listener.connectionSlots, own: shardNumber })
  }
}
