// The WebSocket library. Two files use it: for accepted and for outgoing connections.

import { WebSocket } from 'ws'

export { type RawData, WebSocket, WebSocketServer } from 'ws'

/** What decides when the close frame of the peer is answered. */
interface CloseDelay {
  /** Returns true if `close` is called again, later. */
  delayClose(): boolean
}

/**
 * A WebSocket whose library calls `close` as soon as the close frame of the peer arrives, after which nothing can be sent. Here,
 * the owner first answers what the peer has sent (RFC 6455 5.5.1 allows the delay), and then closes.
 */
export class AcceptedWebSocket extends WebSocket {
  closeDelay: CloseDelay | undefined

  override close(code?: number, reason?: string | Buffer): void {
    if (this.closeDelay?.delayClose() !== true) super.close(code, reason)
  }
}
