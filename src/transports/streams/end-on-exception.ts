// Connections of client libraries.

import type { Socket } from 'node:net'

/**
 * A client library may throw for bytes that are not of its protocol, within the event of the socket. Nothing above would catch that. The
 * connection is closed with this error.
 */
export function endOnException<Opened extends Socket>(socket: Opened): Opened {
  const emit = socket.emit.bind(socket)
  const emitGuarded = (event: string | symbol, ...values: unknown[]): boolean => {
    if (event !== 'data' && event !== 'readable') return emit(event, ...values)
    try {
      return emit(event, ...values)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      socket.destroy(new Error(`the service sent what its protocol does not allow: ${why}`, { cause: error }))
      return true
    }
  }
  socket.emit = emitGuarded as Opened['emit']
  return socket
}
