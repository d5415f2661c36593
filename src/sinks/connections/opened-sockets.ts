// Finds the sockets that a client library opens by itself: they are destroyed when the library does not do so, and an exception of the library for
// what a service sends ends the connection, not the shard.

import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { endOnException } from '../../transports/index.ts'

const current = new AsyncLocalStorage<Set<Socket>>()

// Node.js publishes each outgoing TCP connection, in the context of the call that opens it.
subscribe('net.client.socket', (message) => {
  const sockets = current.getStore()
  if (sockets === undefined) return
  const { socket } = message as { readonly socket: Socket }
  sockets.add(socket)
  endOnException(socket)
  socket.once('close', () => sockets.delete(socket))
})

/** Runs `work`. The sockets that it opens, also later and in its asynchronous parts, are in `sockets` until they are closed. */
export function collectSockets<Result>(sockets: Set<Socket>, work: () => Result): Result {
  return current.run(sockets, work)
}
