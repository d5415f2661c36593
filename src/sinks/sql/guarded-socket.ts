// TCP connections for database libraries that have no option for the lookup of a host name.

import { connect, Socket } from 'node:net'
import { endOnException, lookUpAllowedAddresses } from '../../transports/index.ts'

/** A socket that the library connects itself, to a port and a host. It does not connect to denied addresses. */
export function createGuardedSocket(): Socket {
  const socket = new Socket()
  const connectSocket = socket.connect.bind(socket)
  socket.connect = ((port: number, host: string) =>
    connectSocket({ port, host, lookup: lookUpAllowedAddresses })) as Socket['connect']
  return endOnException(socket)
}

/** A socket that connects, but not to denied addresses. */
export function connectGuarded(address: { readonly host: string; readonly port: number }): Socket {
  return endOnException(connect({ ...address, lookup: lookUpAllowedAddresses, keepAlive: true, noDelay: true }))
}
