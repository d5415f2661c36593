// Limits the clients of a datagram socket: the number at one time, counted over all shards, and the number of new clients per second.

import { ConnectionLimit } from '../../transports/index.ts'
import type { ShardListener } from '../messages/messages.ts'

const msPerSecond = 1_000

export interface DatagramLimits {
  /** Counts one more client in this second. Returns false if the limit is reached. */
  hasSpace(): boolean
  readonly connections: ConnectionLimit
}

export function createDatagramLimits(
  { maxConnections, connectionSlots, maxConnectionRate = Number.POSITIVE_INFINITY }: ShardListener,
  {
    own,
    connections: parent,
    nowMs,
  }: { readonly own: number; readonly connections: ConnectionLimit; readonly nowMs: () => number },
): DatagramLimits {
  const connections = new ConnectionLimit(maxConnections ?? Number.POSITIVE_INFINITY, {
    ...(connectionSlots !== undefined && { places: { cells: connectionSlots, own } }),
    parent,
    refusal: 'listener-full',
  })
  const maxTokens = Math.max(1, maxConnectionRate)
  let tokens = maxTokens
  let atMs = nowMs()
  const takeToken = (): boolean => {
    const now = nowMs()
    tokens = Math.min(maxTokens, tokens + ((now - atMs) * maxConnectionRate) / msPerSecond)
    atMs = now
    if (tokens < 1) return false
    tokens--
    return true
  }
  return {
    hasSpace: () => connections.reasonToRefuse === undefined && (maxConnectionRate === Infinity || takeToken()),
    connections,
  }
}
