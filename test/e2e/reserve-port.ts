// Ports for servers whose port must be known before they start, or that restart on the same port.

import { once } from 'node:events'
import { createSocket } from 'node:dgram'
import { createServer, type Server } from 'node:net'
import type { Scope } from './godwit-process.ts'

/**
 * Below the ports that a system assigns to port 0 (32768 and above with Linux, 16000 with gVisor), so that no client and no listener of
 * another test gets one of these ports.
 */
const firstPort = 10_000
const portCount = 3_000

/**
 * Distance of the guard port, which is listened on until the test ends. The reserved port itself stays free, because some programs check
 * whether they can listen on it at each address.
 */
const guardDistance = portCount

let next = (process.pid * 41) % portCount

/**
 * Returns a port of 127.0.0.1 that is free over TCP and UDP. No other call returns it until the test ends, also in other processes, which
 * run other test files.
 */
export async function reservePort(t: Scope): Promise<number> {
  for (let tries = 0; tries < portCount; tries++) {
    const port = firstPort + (next++ % portCount)
    const guard = await listen(port + guardDistance)
    if (guard === undefined) continue
    if ((await isFreeOverTcp(port)) && (await isFreeOverUdp(port))) {
      guard.unref()
      t.after(() => guard.close())
      return port
    }
    await close(guard)
  }
  throw new Error(`no port from ${firstPort} to ${firstPort + portCount - 1} is free`)
}

/** Returns a port whose next port is free as well. */
export async function reservePortPair(t: Scope): Promise<number> {
  let port = await reservePort(t)
  for (;;) {
    const next = await reservePort(t)
    if (next === port + 1) return port
    port = next
  }
}

async function listen(port: number): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy())
  server.listen({ host: '127.0.0.1', port, exclusive: true })
  try {
    await once(server, 'listening')
    return server
  } catch (error) {
    if (isInUse(error)) return undefined
    throw error
  }
}

async function close(server: Server): Promise<void> {
  server.close()
  await once(server, 'close')
}

async function isFreeOverTcp(port: number): Promise<boolean> {
  const server = await listen(port)
  if (server !== undefined) await close(server)
  return server !== undefined
}

async function isFreeOverUdp(port: number): Promise<boolean> {
  const socket = createSocket('udp4').bind({ address: '127.0.0.1', port, exclusive: true })
  try {
    await once(socket, 'listening')
    return true
  } catch (error) {
    if (isInUse(error)) return false
    throw error
  } finally {
    socket.close()
  }
}

function isInUse(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
}
