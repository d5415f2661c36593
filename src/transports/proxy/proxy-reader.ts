// Reads the PROXY header at the start of a connection. Later bytes are put back into the socket.

import type { Socket } from 'node:net'
import type { ClientAddress } from '../streams/byte-stream.ts'
import { parseProxyHeader } from './proxy-header.ts'

export interface ProxyReading {
  readonly socket: Socket
  readonly timeoutMs: number
  /** Called once, unless the socket closes before: with the client in the header, undefined if there is none. */
  readonly onClient: (client: ClientAddress | undefined) => void
  readonly onMalformed: (why: string) => void
}

/** Memory is limited by the longest header that `parseProxyHeader` accepts, and by the buffer of a socket. */
export function readProxyHeader({ socket, timeoutMs, onClient, onMalformed }: ProxyReading): void {
  let bytes: Buffer = Buffer.alloc(0)
  const timer = setTimeout(() => refuseHeader('its PROXY header did not come in time'), timeoutMs)
  const stop = (): void => {
    clearTimeout(timer)
    socket.off('readable', take)
    socket.off('close', stop)
  }
  const refuseHeader = (why: string): void => {
    stop()
    onMalformed(why)
  }
  // Not with the event `data`: a socket in flowing mode would lose bytes before its next owner listens.
  const take = (): void => {
    for (let chunk = readChunk(socket); chunk !== null; chunk = readChunk(socket)) bytes = Buffer.concat([bytes, chunk])
    const header = parseProxyHeader(bytes)
    if (header.state === 'incomplete') return
    if (header.state === 'malformed') return refuseHeader(header.why)
    stop()
    if (header.bytes < bytes.length) socket.unshift(bytes.subarray(header.bytes))
    onClient(header.client)
  }
  socket.on('readable', take)
  socket.on('close', stop)
}

function readChunk(socket: Socket): Buffer | null {
  return socket.read() as Buffer | null
}
