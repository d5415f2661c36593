// Outgoing WebSocket connections over an open socket: one request, one response, then binary frames.

import type { Socket } from 'node:net'
import type { ClientAddress } from '../streams/byte-stream.ts'
import { type DialAttempt, type DialTarget, formatHostPort } from './dial-attempt.ts'
import { WebSocket } from '../websocket/websocket-library.ts'
import { createWebSocketStream } from '../websocket/websocket-stream.ts'

export interface WebSocketDial {
  readonly socket: Socket
  readonly address: ClientAddress
  readonly target: DialTarget
  readonly maxMessageBytes: number
}

/** [MQTT-6.0.0-3] The only offered subprotocol. */
const subprotocol = 'mqtt'

const settings = {
  perMessageDeflate: false,
  followRedirects: false,
  // The stream responds to pings, one at a time.
  autoPong: false,
  // Text is refused, whatever its content.
  skipUTF8Validation: true,
  /** A peer that does not respond to the close frame is disconnected after this time. */
  closeTimeout: 5_000,
}

/** Requests the upgrade. Redirects are not followed: only the configured address is trusted. */
export function dialWebSocket({ socket, address, target, maxMessageBytes }: WebSocketDial, attempt: DialAttempt): void {
  const where = formatHostPort(target)
  const refuse = (why: string): void => attempt.fail({ reason: 'upgrade', message: `${where}: ${why}` })
  const webSocket = new WebSocket(`ws://${where}${target.path}`, [subprotocol], {
    ...settings,
    createConnection: () => socket,
    maxPayload: maxMessageBytes,
  })
  attempt.onFailure(() => {
    webSocket.terminate()
    socket.destroy()
  })
  const fail = (error: Error): void => refuse(error.message)
  webSocket.on('error', fail)
  webSocket.once('unexpected-response', (request, response) => {
    request.destroy()
    refuse(`it responds with status ${response.statusCode} and has no WebSocket endpoint at ${target.path}`)
  })
  webSocket.once('open', () => {
    attempt.succeed(createWebSocketStream(webSocket, { ...address, credentials: undefined }))
  })
}
