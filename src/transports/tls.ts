// MQTT over TLS: what comes through the door and the gate, as byte streams.

import type { ByteStream, ChangingListener } from './byte-stream.ts'
import { openDoor, type DoorOptions, type Welcome } from './connection-acceptor.ts'
import { SocketStream } from './socket-stream.ts'
import type { TlsGate } from './tls-upgrade.ts'

export interface TlsListenOptions extends DoorOptions {
  readonly gate: TlsGate
  /** Called for each client that is through the handshake. Sets `onData` and `onClose` of the stream before it returns. */
  onStream(stream: ByteStream): void
}

/** Starts to listen. Rejects with the system's error (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`) where it cannot. */
export async function listenTls(options: TlsListenOptions): Promise<ChangingListener<TlsListenOptions>> {
  let { gate } = options
  const door = await openDoor(options, welcomeTo(options))
  return {
    host: door.host,
    port: door.port,
    close(): Promise<void> {
      gate.close()
      return door.close()
    },
    reload: () => gate.reload(),
    change(changed): void {
      gate.retire()
      gate = changed.gate
      door.change(changed, welcomeTo(changed))
    },
  }
}

function welcomeTo(options: TlsListenOptions): Welcome {
  return (raw, address) =>
    options.gate.welcome(raw, address, (socket, client, credentials) => {
      options.onStream(SocketStream.over(socket, client, credentials))
    })
}
