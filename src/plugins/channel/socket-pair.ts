// A pair of connected sockets, made in the thread that keeps one end. The process of a plugin inherits the other end, so no message
// passes through another thread.

import { rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'

export interface SocketPair {
  /** The end of this thread. */
  readonly own: Socket
  /** The end of the process; it is not read here. */
  readonly other: Socket
  /** The file descriptor of `other`, valid in the whole process of the broker until `other` is destroyed. */
  readonly descriptor: number
}

/** Rejects for errors of the system. `path`: a path for a socket in a folder that only this user can open; it is free again afterwards. */
export async function openSocketPair(path: string): Promise<SocketPair> {
  await rm(path, { force: true })
  const server = createServer({ pauseOnConnect: true })
  try {
    const { promise: isAccepted, resolve: accept, reject } = Promise.withResolvers<Socket>()
    server.on('error', reject)
    server.once('connection', accept)
    await new Promise<void>((resolve) => server.listen(path, resolve).once('error', () => resolve()))
    const own = connect(path)
    own.once('error', reject)
    const other = await isAccepted
    own.off('error', reject)
    return { own, other, descriptor: readDescriptor(other) }
  } finally {
    server.close()
    await rm(path, { force: true })
  }
}

/** Node has no documented way to get the descriptor of a socket, but `spawn` takes only numbers of other threads. */
function readDescriptor(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly fd?: unknown } | null }
  const descriptor = handle?.fd
  if (typeof descriptor !== 'number' || descriptor < 0) throw new Error('the socket has no file descriptor')
  return descriptor
}
