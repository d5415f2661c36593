// Outgoing connections. The result is a byte stream or a text that says why it failed.
//
//   target --look up--> guarded address --TCP--> [TLS] --> [upgrade] --> byte stream
//                                       --QUIC------------------------> byte stream
//
// Files are read for each attempt, so that the next connection uses a replaced certificate.

import { isForbiddenAddress } from './address-guard.ts'
import { DialAttempt, type Dial, type DialHandlers, type DialTarget, formatHostPort } from './dial-attempt.ts'
import { dialQuic, type DialQuicSettings } from './dial-quic.ts'
import { openSocket, type DialSocketSettings } from './dial-socket.ts'
import { dialWebSocket } from './dial-websocket.ts'
import { SocketStream } from '../streams/socket-stream.ts'

export interface DialSettings extends DialSocketSettings {
  /** Maximum time until the connection is usable: lookup, handshakes and upgrade together. */
  readonly connectTimeoutMs: number
  /** WebSocket: maximum size of a message. QUIC with several streams: of a packet. */
  readonly maxMessageBytes: number
  readonly quic: DialQuicSettings
}

/** Opens a connection. */
export function dial(target: DialTarget, settings: DialSettings, handlers: DialHandlers): Dial {
  const attempt = new DialAttempt(handlers)
  attempt.limitTo(settings.connectTimeoutMs, formatHostPort(target))
  if (isForbiddenAddress(target.host)) {
    attempt.fail({ reason: 'address', message: `${target.host} is a denied address` })
  } else {
    startDial(target, settings, attempt)
  }
  return attempt
}

function startDial(target: DialTarget, settings: DialSettings, attempt: DialAttempt): void {
  if (target.scheme === 'quic') return dialQuic(target, settings, attempt)
  openSocket(target, settings, attempt, (socket, address) => {
    if (target.scheme === 'ws' || target.scheme === 'wss') {
      dialWebSocket({ socket, address, target, maxMessageBytes: settings.maxMessageBytes }, attempt)
    } else {
      attempt.succeed(SocketStream.create(socket, address, undefined))
    }
  })
}
