// A client that publishes as fast as its messages are acknowledged.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connectFrame, publishRing } from '../load/frames.ts'

export const topic = 'load/bridge'
export const payload = Buffer.alloc(64, 'x')
const connackBytes = 4
const pubackBytes = 4

/** Returns an accepted client. */
export async function client(port: number, clientId: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  socket.write(connectFrame({ version: 4, clientId, persistent: false }))
  await bytesFrom(socket, connackBytes)
  return socket
}

function bytesFrom(socket: Socket, wanted: number): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0
    const take = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes < wanted) return
      socket.off('data', take)
      resolve()
    }
    socket.on('data', take)
  })
}

export interface Publisher {
  /** Resolves when all sent messages are acknowledged. */
  readonly done: Promise<void>
  acknowledged(): number
  /** Stops sending. */
  stop(): void
}

/** Sends at most `most` messages, with at most `window` unacknowledged ones at a time. */
export async function publisher(
  port: number,
  { window, most }: { window: number; most: number },
  clientId = 'publisher',
): Promise<Publisher> {
  const socket = await client(port, clientId)
  const { bytes, frameBytes, size } = publishRing({ version: 4, topic, qos: 1, payload }, window)
  let limit = most
  let sent = 0
  let ackedBytes = 0
  const acknowledged = (): number => Math.floor(ackedBytes / pubackBytes)
  const { promise: done, resolve } = Promise.withResolvers<void>()
  const send = (): void => {
    const room = Math.min(window - (sent - acknowledged()), limit - sent)
    if (room > 0) {
      const at = (sent % size) * frameBytes
      sent += room
      socket.write(bytes.subarray(at, at + room * frameBytes))
    } else if (acknowledged() >= sent && sent >= limit) {
      socket.destroy()
      resolve()
    }
  }
  socket.on('data', (chunk) => {
    ackedBytes += chunk.length
    send()
  })
  send()
  const stop = (): void => {
    limit = sent
    send()
  }
  return { done, acknowledged, stop }
}
