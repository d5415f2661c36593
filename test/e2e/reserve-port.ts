// Ports for what must know its port before it listens, or comes back on the same one.

import { once } from 'node:events'
import { createSocket } from 'node:dgram'
import { createServer, type Server } from 'node:net'
import type { Scope } from './godwit-process.ts'

/**
 * Below the ports that a system chooses when a program binds to port 0 (32768 and above with Linux, 16000 with gVisor): no client and no
 * listener of another test gets one of these by chance.
 */
const firstPort = 10_000
const portCount = 3_000

/**
 * The port so far above is listened on until the test ends, in place of the port itself: some programs try whether they can listen on
 * it at every address.
 */
const guardDistance = portCount

let next = (process.pid * 41) % portCount

/**
 * A port of 127.0.0.1 that nothing listens on, over TCP or UDP. Until the test ends no other call returns it, in whatever process:
 * test files run at the same time.
 */
export async function reservePort(t: Scope): Promise<number> {
  for (let tries = 0; tries < portCount; tries++) {
    const port = firstPort + (next++ % portCount)
    const guard = await listening(port + guardDistance)
    if (guard === undefined) continue
    if ((await isFreeOverTcp(port)) && (await isFreeOverUdp(port))) {
      guard.unref()
      t.after(() => guard.close())
      return port
    }
    await closed(guard)
  }
  throw new Error(`no port from ${firstPort} to ${firstPort + portCount - 1} is free`)
}

async function listening(port: number): Promise<Server | undefined> {
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

async function closed(server: Server): Promise<void> {
  server.close()
  await once(server, 'close')
}

async function isFreeOverTcp(port: number): Promise<boolean> {
  const server = await listening(port)
  if (server !== undefined) await closed(server)
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
