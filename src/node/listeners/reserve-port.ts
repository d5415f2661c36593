// Reserves a port briefly, to check that it is free and to resolve port 0. A given port is bound without listening, so
// that programs which wait for the broker's port do not connect too early.

import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { connect, createServer, isIPv6, type AddressInfo } from 'node:net'

export interface Place {
  readonly host: string
  readonly port: number
}

export interface ReservedPort {
  readonly place: Place
  release(): Promise<void>
}

/** Binds to the first address of `host`. `taken`: ports that are already reserved. Rejects with the system's error. */
export async function reserveTcpPort(host: string, port: number, taken: readonly Place[]): Promise<ReservedPort> {
  if (port === 0) return reserveAnyPort(host)
  const { address } = await lookup(host)
  const place = { host: address, port }
  if (taken.some((other) => isOverlapping(other, place))) throw createAddressInUseError()
  return { place, release: await bindOnly(place) }
}

/** No program can wait for a port that the system chooses. */
function reserveAnyPort(host: string): Promise<ReservedPort> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host, port: 0, exclusive: true }, () => {
      const { address, port } = server.address() as AddressInfo
      const release = (): Promise<void> => new Promise((closed) => server.close(() => closed()))
      resolve({ place: { host: address, port }, release })
    })
  })
}

/**
 * A socket that is bound to the port and connects to itself, because Node binds only sockets that listen or connect.
 * The system refuses other clients meanwhile. Whether the connection succeeds does not matter.
 */
function bindOnly({ host, port }: Place): Promise<ReservedPort['release']> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: toReachableHost(host), port, localAddress: host, localPort: port })
    const release = (): Promise<void> =>
      new Promise((closed) => {
        if (socket.closed) return closed()
        socket.once('close', () => closed())
        // Without the reset the system would keep the port in TIME_WAIT.
        socket.resetAndDestroy()
      })
    socket.once('connect', () => resolve(release))
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.syscall === 'bind') reject(error)
      else resolve(release)
    })
  })
}

function toReachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}

/** `::` includes IPv4 addresses. */
function isOverlapping(one: Place, other: Place): boolean {
  if (one.port !== other.port) return false
  const hosts = [one.host, other.host]
  if (one.host === other.host || hosts.includes('::')) return true
  return hosts.includes('0.0.0.0') && !hosts.some((host) => isIPv6(host))
}

function createAddressInUseError(): NodeJS.ErrnoException {
  return Object.assign(new Error('the port is taken by another listener'), { code: 'EADDRINUSE' })
}

/** Does the same for QUIC: UDP has no connections, so no client notices it. */
export async function reserveUdpPort(host: string, port: number): Promise<ReservedPort> {
  const { address } = await lookup(host)
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.bind({ address, port, exclusive: true }, () => {
      const bound = socket.address()
      const release = (): Promise<void> => new Promise((closed) => socket.close(() => closed()))
      resolve({ place: { host: bound.address, port: bound.port }, release })
    })
  })
}
