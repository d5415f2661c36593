// The address of a device of a gateway may change while its connection to the broker stays open. Bans and rules by address concern the address
// from which the device sends now.

import { reasonCodes } from '../../protocol/index.ts'
import type { Connection, GatewayClient } from '../model/connection.ts'
import { setIdentity } from '../sessions/set-identity.ts'
import type { BrokerState } from '../state/broker-state.ts'
import { getState } from '../state/connection-state.ts'
import { endConnection } from './close-connection.ts'

/** Takes over the present address of the device. Returns false if the connection was ended: no client may use it from there. */
export function followAddress(
  state: BrokerState,
  connection: Connection,
  { address, port }: Pick<GatewayClient, 'address' | 'port'>,
): boolean {
  if (port !== undefined) connection.peerPort = port
  if (address === undefined || address === connection.peerAddress) return true
  const now = getState(connection)
  if (now.state !== 'open') return true
  connection.peerAddress = address
  const { session } = now
  setIdentity(state, connection, session, { ...session.identity, peerAddress: address })
  if (state.access.permissions.canStay(session.identity)) return true
  const text = 'the client is banned or not allowed to be connected from its new address'
  endConnection(state, connection, { reason: reasonCodes.notAuthorized, text, publishWill: true })
  return false
}
