// Moves clients to other brokers before this one stops: new clients are refused, and connected ones are disconnected in portions.

import { reasonCodes } from '../../protocol/index.ts'
import type { Command } from '../model/inputs.ts'
import type { BrokerState } from '../state/broker-state.ts'
import { endConnection } from '../connect/close-connection.ts'

/**
 * [MQTT5-3.14.2.1: 0x9C] Disconnects clients; their persistent sessions remain. Internal clients stay, because they deliver what is
 * stored. Returns the number of clients that are still connected.
 */
export function drainClients(
  state: BrokerState,
  { isDraining, maxClients }: Extract<Command, { name: 'drain' }>,
): number {
  state.isDraining = isDraining
  const connected = [...state.sessions.values()].flatMap(({ connection }) =>
    connection === undefined || connection.listener.isInternal === true ? [] : [connection],
  )
  if (!isDraining) return connected.length
  const text = 'the broker is drained: connect to another one'
  for (const connection of connected.slice(0, maxClients)) {
    endConnection(state, connection, { reason: reasonCodes.useAnotherServer, text, publishWill: true })
  }
  return Math.max(0, connected.length - maxClients)
}
