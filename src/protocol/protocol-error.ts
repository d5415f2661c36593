import { reasonCodes, type ReasonCode, type ReasonName } from './reason-codes.ts'

/**
 * The peer broke the protocol: thrown by decoders, caught in one place by whoever feeds them. `reason` is what a 5.0
 * peer is told in CONNACK or DISCONNECT; a 3.1 or 3.1.1 peer is just disconnected. The message is for logs and for
 * the reason string: it names the field, never its value.
 */
export class ProtocolError extends Error {
  readonly reason: ReasonCode

  constructor(reason: ReasonName, message: string) {
    super(message)
    this.name = 'ProtocolError'
    this.reason = reasonCodes[reason]
  }
}
