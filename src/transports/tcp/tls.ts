// MQTT over TLS: sockets after the connection acceptor and the TLS upgrade, as byte streams.

import type { ByteStream, ReconfigurableListener } from '../streams/byte-stream.ts'
import { openConnectionAcceptor, type AcceptorOptions, type OnAccept } from './connection-acceptor.ts'
import type { SharedSocket } from '../streams/unanswered-socket.ts'
import { SocketStream } from '../streams/socket-stream.ts'
import type { TlsUpgrade } from './tls-upgrade.ts'

export interface TlsListenOptions extends AcceptorOptions {
  readonly upgrade: TlsUpgrade
  /** Called for each client after the handshake. Must set `onData` and `onClose` of the stream before it returns. */
  onStream(stream: ByteStream): void
}

/** Starts to listen. Rejects with the system's error (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`). */
export async function listenTls(options: TlsListenOptions): Promise<ReconfigurableListener<TlsListenOptions>> {
  let { upgrade } = options
  const acceptor = await openConnectionAcceptor(options, acceptHandler(options))
  return {
    host: acceptor.host,
    port: acceptor.port,
    close(): Promise<void> {
      upgrade.close()
      return acceptor.close()
    },
    reload: () => upgrade.reload(),
    change(changed): void {
      upgrade.retire()
      upgrade = changed.upgrade
      acceptor.change(changed, acceptHandler(changed))
    },
  }
}

function acceptHandler(options: TlsListenOptions): OnAccept {
  return (raw, address) =>
    options.upgrade.startHandshake(raw, address, (socket, client, credentials) => {
      const shared: SharedSocket = socket
      shared.share = raw.share
      options.onStream(SocketStream.create(socket, client, credentials))
    })
}
