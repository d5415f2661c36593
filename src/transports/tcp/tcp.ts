// TCP sockets of node:net as byte streams.
//
// Most memory of an idle connection is Node's. Here it has only one further object and no function of its own: the
// socket's listeners are shared and find the stream through a field of the socket.

import type { Socket } from 'node:net'
import type { ByteStream, ReconfigurableListener } from '../streams/byte-stream.ts'
import {
  openConnectionAcceptor,
  type AcceptorOptions,
  type AcceptedSocket,
  type OnAccept,
} from './connection-acceptor.ts'
import { SocketStream } from '../streams/socket-stream.ts'

export interface TcpListenOptions extends AcceptorOptions {
  /** Called for each connection. Must set `onData` and `onClose` of the stream before it returns. */
  onStream(stream: ByteStream): void
}

/** Starts to listen. Rejects with the system's error (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`). */
export async function listenTcp(options: TcpListenOptions): Promise<ReconfigurableListener<TcpListenOptions>> {
  const acceptor = await openConnectionAcceptor(options, acceptHandler(options))
  return { ...acceptor, change: (changed) => acceptor.change(changed, acceptHandler(changed)) }
}

function acceptHandler(options: TcpListenOptions): OnAccept {
  return (socket, client) => {
    const stream = new SocketStream(socket, client, undefined)
    socket.callbacks = stream
    socket.allowHalfOpen = true
    socket.on('data', passData)
    socket.on('end', passEnd)
    options.onStream(stream)
  }
}

function passData(this: Socket, chunk: Buffer): void {
  const { callbacks } = this as AcceptedSocket
  const stream = callbacks as SocketStream
  stream.onData(chunk)
}

function passEnd(this: Socket): void {
  const { callbacks } = this as AcceptedSocket
  const stream = callbacks as SocketStream
  stream.handleEnd()
}
