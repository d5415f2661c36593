import { createSocket } from 'node:dgram'
import { once } from 'node:events'

/** A free port of loopback. */
export async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  return port
}
