// TCP: sockets of node:net as byte streams.
//
// An idle connection is mostly what Node keeps for it; here it gets one object more and no function of its own: the
// socket's listeners are shared and find the stream through a field of the socket.

import type { Socket } from 'node:net'
import type { ByteStream, ChangingListener } from './byte-stream.ts'
import { openDoor, type DoorOptions, type DoorSocket, type Welcome } from './connection-acceptor.ts'
import { SocketStream } from './socket-stream.ts'

export interface TcpListenOptions extends DoorOptions {
  /** Called for each connection. Sets `onData` and `onClose` of the stream before it returns. */
  onStream(stream: ByteStream): void
}

/** Starts to listen. Rejects with the system's error (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`) where it cannot. */
export async function listenTcp(options: TcpListenOptions): Promise<ChangingListener<TcpListenOptions>> {
  const door = await openDoor(options, welcomeTo(options))
  return { ...door, change: (changed) => door.change(changed, welcomeTo(changed)) }
}

function welcomeTo(options: TcpListenOptions): Welcome {
  return (socket, client) => {
    const stream = new SocketStream(socket, client, undefined)
    socket.guest = stream
    socket.on('data', passData)
    options.onStream(stream)
  }
}

function passData(this: Socket, chunk: Buffer): void {
  const { guest } = this as DoorSocket
  const stream = guest as SocketStream
  stream.onData(chunk)
}
