// Takes the PROXY header off the beginning of a connection. Whatever follows it is put back, as if it had come first.

import type { Socket } from 'node:net'
import type { ClientAddress } from './byte-stream.ts'
import { parseProxyHeader } from './proxy-header.ts'

export interface ProxyProtocol {
  /** A header that takes longer to arrive never comes. */
  readonly timeoutMs: number
  /** Addresses and networks of the proxies; empty: every peer is trusted. */
  readonly trusted: readonly string[]
}

export interface ProxyReading {
  readonly socket: Socket
  readonly timeoutMs: number
  /** Called once, unless the socket closes before: with the client that the header names, undefined where it names none. */
  readonly onClient: (client: ClientAddress | undefined) => void
  readonly onMalformed: (why: string) => void
}

/** Bounded by the longest header that `parseProxyHeader` waits for, and by what one socket buffers behind it. */
export function readProxyHeader({ socket, timeoutMs, onClient, onMalformed }: ProxyReading): void {
  let bytes: Buffer = Buffer.alloc(0)
  const timer = setTimeout(() => give('its PROXY header did not come in time'), timeoutMs)
  const stop = (): void => {
    clearTimeout(timer)
    socket.off('readable', take)
    socket.off('close', stop)
  }
  const give = (why: string): void => {
    stop()
    onMalformed(why)
  }
  // Not by `data`: a socket that has flowed once keeps flowing, also before its next owner listens.
  const take = (): void => {
    for (let chunk = read(socket); chunk !== null; chunk = read(socket)) bytes = Buffer.concat([bytes, chunk])
    const header = parseProxyHeader(bytes)
    if (header.state === 'incomplete') return
    if (header.state === 'malformed') return give(header.why)
    stop()
    if (header.bytes < bytes.length) socket.unshift(bytes.subarray(header.bytes))
    onClient(header.client)
  }
  socket.on('readable', take)
  socket.on('close', stop)
}

function read(socket: Socket): Buffer | null {
  return socket.read() as Buffer | null
}
